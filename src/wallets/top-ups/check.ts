import { and, asc, eq, getTableColumns, gt, isNull, type SQL } from "drizzle-orm";
import pMap from "p-map";
import { MAX_CONCURRENT_FETCHES } from "../../connections.ts";
import { type Database, statement } from "../../db/client.ts";
import { isOneOf } from "../../db/conditions.ts";
import type { Env } from "../../env.ts";
import { toIsoTime } from "../../http/envelope.ts";
import { selectAutomationMode } from "../../sources/automation-mode.ts";
import { paymentSource } from "../../sources/tables.ts";
import type { ManagedWallet } from "../managed/find-wallet.ts";
import { type Balance, createBalanceReader } from "../managed/read-balances.ts";
import { managedWallet } from "../managed/tables.ts";
import { describeError } from "../queue/errors.ts";
import { mapIsolated, toTaskError } from "../queue/isolate-failures.ts";
import { wakeWallet } from "../queue/wake-wallet.ts";
import {
  type DueRule,
  findDueRules,
  openCheckDatabase,
  postponeRules,
  type RuleOutcome,
  splitIntoPortions,
  writeRuleOutcomes,
} from "../rules/check-rules.ts";
import { type TopUpRuleRow, topUpRule } from "../rules/tables.ts";
import { createTransfer, insertTransfer } from "../transfers/store.ts";
import { OPEN_TOP_UP_CONDITION, type TransferRow, transfer } from "../transfers/tables.ts";
import { boundsOf, DAY_MS, decideTopUp, type PastTopUp, type TopUpDecision } from "./decide.ts";

/** Rules are checked once in each window, together, so that wallets share a transaction. */
export const CHECK_WINDOW_MS = 5 * 60_000;

type DueTopUp = DueRule<TopUpRuleRow, ManagedWallet>;

/** What a check found: a top-up to make, or why there is none although the balance is low. */
interface TopUpOutcome {
  /** Minor units. */
  held: bigint;
  send: { amount: bigint; from: ManagedWallet } | null;
  waitsFor: string | null;
}

/**
 * Checks the rules that are due, and has Funding wallets fill up what is low. A balance that cannot be
 * read changes nothing.
 *
 * @param now - epoch milliseconds
 * @param deadline - epoch milliseconds until which the providers are waited for
 */
export async function checkTopUps(
  env: Env,
  requestId: string,
  now: number,
  deadline: number,
): Promise<void> {
  const database = openCheckDatabase(env, deadline);
  const due = await findDueRules(database, topUpRule, managedWallet, managedWallet.sourceId, now);
  if (due.length === 0) return;
  const payers = await listPayers(database, due);
  const readBalances = createBalanceReader(env, deadline, "wallet");
  const balances = await readBalances(payers);
  const funds = payers.map((wallet) => ({
    wallet,
    remainingBalance: balances.get(wallet.id) ?? null,
  }));
  const paying = new Map<string, ManagedWallet>();
  for (const portion of splitIntoPortions(due)) {
    if (Date.now() >= deadline) break;
    for (const from of await checkPortion(portion)) paying.set(from.id, from);
  }
  const wake = ({ network, vkey }: ManagedWallet) => wakeWallet(env, network, vkey, requestId);
  await pMap(paying.values(), wake, { concurrency: MAX_CONCURRENT_FETCHES });

  /** @returns the Funding wallets that pay for top-ups */
  async function checkPortion(portion: readonly DueTopUp[]): Promise<ManagedWallet[]> {
    const wallets = portion.map(({ wallet }) => wallet);
    const balances = await readBalances(wallets);
    const past = await readPastTopUps(database, wallets, now - DAY_MS);
    const decide = (one: DueTopUp) => {
      const balance = balances.get(one.wallet.id);
      return balance
        ? decideOutcome(one, balance.get(one.rule.unit) ?? 0n, past, funds, now)
        : null;
    };
    const { results, errors } = mapIsolated(portion, decide);
    const outcomes = results.flatMap(({ item, result }) =>
      result ? [toRuleOutcome(database, item, result, now)] : [],
    );
    const sending = outcomes.filter(({ from }) => from !== null);
    const { writtenOutcomes, errors: refused } = await writeRuleOutcomes(
      database,
      topUpRule,
      sending,
    );
    const waiting = outcomes.filter(({ from }) => from === null);
    await writeWaiting(database, waiting);
    const unread = results.filter(({ result }) => result === null).map(({ item }) => item);
    await postponeRules(database, topUpRule, unread, now);
    for (const { item, error } of errors) await writeFailure(database, item, error, requestId, now);
    for (const { item, error } of refused)
      await writeFailure(database, item.due, error, requestId, now);
    return writtenOutcomes.flatMap(({ from }) => from ?? []);
  }
}

/** Makes all top-up rules due, so that the next run of the cron checks them. */
export async function requestTopUpCheck(database: Database): Promise<void> {
  await database.batch([statement("UPDATE top_up_rule SET due_at = 0 WHERE enabled = 1")]);
}

/** The beginning of the next window, epoch milliseconds as `now`. */
function computeNextWindow(now: number): number {
  return now - (now % CHECK_WINDOW_MS) + CHECK_WINDOW_MS;
}

/** What is written of a rule that was checked. */
interface TopUpRuleOutcome extends RuleOutcome<typeof topUpRule> {
  due: DueTopUp;
  /** The Funding wallet that pays; null: none does. */
  from: ManagedWallet | null;
}

function toRuleOutcome(
  database: Database,
  due: DueTopUp,
  { held, send, waitsFor }: TopUpOutcome,
  now: number,
): TopUpRuleOutcome {
  const dueAt = computeNextWindow(now);
  return {
    due,
    rule: due.rule,
    changes: { balance: held.toString(), checkedAt: now, dueAt, waitsFor },
    others: send ? insertTransfer(database, toTransferRow(due, send, now)) : [],
    from: send?.from ?? null,
  };
}

/** Writes the outcomes of rules that send nothing, in one statement. A rule that has changed since stays. */
async function writeWaiting(
  database: Database,
  waiting: readonly TopUpRuleOutcome[],
): Promise<void> {
  const rows = waiting.map(({ rule: { id, version }, changes }) => ({ id, version, ...changes }));
  if (rows.length === 0) return;
  await database.batch([
    statement(
      `UPDATE top_up_rule SET balance = value->>'balance', checked_at = value->>'checkedAt',
         due_at = value->>'dueAt', waits_for = value->>'waitsFor'
       FROM json_each(?) WHERE top_up_rule.id = value->>'id' AND version = value->>'version'`,
      JSON.stringify(rows),
    ),
  ]);
}

/** Null: nobody knows. */
function decideOutcome(
  { rule, wallet }: DueTopUp,
  held: bigint,
  past: readonly PastTransfer[],
  funds: readonly FundingBalance[],
  now: number,
): TopUpOutcome | null {
  const own = past.filter(({ walletId, unit }) => walletId === wallet.id && unit === rule.unit);
  const decision = decideTopUp(boundsOf(rule), held, own, now);
  if (!("send" in decision)) return { held, send: null, waitsFor: describeWait(decision) };
  const ofSource = funds.filter((fund) => fund.wallet.sourceId === wallet.sourceId);
  const outcome = takeFunds(ofSource, rule.unit, decision.send);
  return outcome && { held, ...outcome };
}

/** For people. */
function describeWait({ waitsFor, until }: Exclude<TopUpDecision, { send: bigint }>) {
  const at = until === null ? "" : `, until ${toIsoTime(until)}`;
  switch (waitsFor) {
    case "Nothing":
      return null;
    case "Itself":
      return "the top-up that is under way";
    case "Pause":
      return `ten minutes after the last top-up${at}`;
    case "Day":
      return `the next day: perDay is used up${at}`;
  }
}

/** A rule for which the check throws says so, and is checked again in the next window. */
async function writeFailure(
  database: Database,
  { rule, wallet }: DueTopUp,
  error: unknown,
  requestId: string,
  now: number,
): Promise<void> {
  const place = { wallet: wallet.id, requestId, feature: "top-up", tasks: [rule.id] };
  const waitsFor = describeError(toTaskError(error, place));
  const changes = { checkedAt: now, dueAt: computeNextWindow(now), waitsFor };
  const failure = database.orm.update(topUpRule).set(changes);
  await database.batch([failure.where(eq(topUpRule.id, rule.id)).toSQL()]);
}

function toTransferRow(
  { rule, wallet }: DueTopUp,
  { amount, from }: NonNullable<TopUpOutcome["send"]>,
  now: number,
): TransferRow {
  const isNative = rule.unit === "";
  return createTransfer(
    {
      network: wallet.network,
      sourceId: wallet.sourceId,
      wallet: from,
      toAddress: wallet.address,
      // With tokens goes as much as the ledger wants.
      coin: isNative ? amount.toString() : "0",
      assets: isNative ? [] : [{ unit: rule.unit, quantity: amount.toString() }],
      topUp: { ruleId: rule.id, walletId: wallet.id },
      createdById: rule.createdById,
    },
    now,
  );
}

/** A Funding wallet, and what it holds less what was taken of it; null: its provider did not answer. */
interface FundingBalance {
  wallet: ManagedWallet;
  remainingBalance: Balance | null;
}

/** Lists the Funding wallets that may pay for some rules: those of their sources that may be driven. */
async function listPayers(database: Database, due: readonly DueTopUp[]): Promise<ManagedWallet[]> {
  const sourceIds = [...new Set(due.map(({ wallet }) => wallet.sourceId))];
  const rows = await database.orm
    .select({ wallet: getTableColumns(managedWallet), source: getTableColumns(paymentSource) })
    .from(paymentSource)
    .innerJoin(managedWallet, eq(managedWallet.sourceId, paymentSource.id))
    .where(
      and(
        isOneOf(paymentSource.id, sourceIds),
        isNull(paymentSource.deletedAt),
        eq(managedWallet.role, "Funding"),
        isNull(managedWallet.deletedAt),
      ),
    )
    .orderBy(asc(managedWallet.createdAt), asc(managedWallet.id));
  return rows.flatMap(({ source, wallet }) =>
    selectAutomationMode(source, wallet) === "nothing" ? [] : [wallet],
  );
}

/**
 * Takes an amount from the Funding wallet that has most of it.
 *
 * @param funds - of one source
 * @param amount - minor units
 * @returns null: nobody knows
 */
function takeFunds(
  funds: readonly FundingBalance[],
  unit: string,
  amount: bigint,
): Omit<TopUpOutcome, "held"> | null {
  const wait = (waitsFor: string) => ({ send: null, waitsFor });
  if (funds.length === 0)
    return wait("a Funding wallet: the payment source has none that may be driven");
  const heldBy = ({ remainingBalance }: FundingBalance) => remainingBalance?.get(unit) ?? 0n;
  const known = funds.filter(({ remainingBalance }) => remainingBalance !== null);
  const richest = known.find((one) => known.every((other) => heldBy(one) >= heldBy(other)));
  if (richest === undefined) return null;
  const { wallet, remainingBalance } = richest;
  const held = heldBy(richest);
  if (held < amount)
    return wait(
      `funds: of ${amount} minor units the Funding wallet ${wallet.address} holds ${held}`,
    );
  remainingBalance?.set(unit, held - amount);
  return { send: { amount, from: wallet }, waitsFor: null };
}

/** A top-up from before, and the wallet that it filled up. */
interface PastTransfer extends PastTopUp {
  walletId: string;
  unit: string;
}

/** Reads the top-ups of some wallets that are under way, or have changed since a time, epoch milliseconds. */
async function readPastTopUps(
  database: Database,
  wallets: readonly ManagedWallet[],
  since: number,
): Promise<PastTransfer[]> {
  const ofWallets = isOneOf(
    transfer.topUpWalletId,
    wallets.map(({ id }) => id),
  );
  const select = (condition: SQL) =>
    database.orm.select().from(transfer).where(and(ofWallets, condition));
  // Each of the two has an index: one condition for both would read all top-ups of the wallets. A top-up
  // that changes in between is in both.
  const open = await select(OPEN_TOP_UP_CONDITION);
  const changed = await select(gt(transfer.updatedAt, since));
  const rows = new Map([...open, ...changed].map((row) => [row.id, row]));
  return [...rows.values()].map(
    ({ topUpWalletId, coin, assets, tx, state, createdAt, updatedAt }) => {
      const [token] = assets;
      return {
        walletId: topUpWalletId ?? "",
        unit: token?.unit ?? "",
        amount: BigInt(token?.quantity ?? tx?.coin ?? coin),
        createdAt,
        endedAt: state === "Confirmed" || state === "Failed" ? updatedAt : null,
        hasFailed: state === "Failed",
      };
    },
  );
}
