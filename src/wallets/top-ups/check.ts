import { and, eq, gt, inArray, or, sql } from "drizzle-orm";
import { type Database, openDb } from "../../db/client.ts";
import type { Env } from "../../env.ts";
import { toIsoTime } from "../../http/envelope.ts";
import { selectAutomationMode } from "../../sources/automation-mode.ts";
import { findActiveSource } from "../../sources/find-source.ts";
import { listActiveWallets, type ManagedWallet } from "../managed/find-wallet.ts";
import { type Balance, readBalances } from "../managed/read-balances.ts";
import { managedWallet } from "../managed/tables.ts";
import { describeError } from "../queue/errors.ts";
import { forEachIsolated, toTaskError } from "../queue/isolate-failures.ts";
import { wakeWallet } from "../queue/wake-wallet.ts";
import {
  type DueRule,
  findDueRules,
  WRITE_TIMEOUT_MS,
  writeRuleOutcome,
} from "../rules/check-rules.ts";
import { type TopUpRuleRow, topUpRule } from "../rules/tables.ts";
import { createTransfer, insertTransfer } from "../transfers/store.ts";
import { type TransferRow, transfer } from "../transfers/tables.ts";
import { boundsOf, DAY_MS, decideTopUp, type PastTopUp, type TopUpDecision } from "./decide.ts";

/** Rules are checked once in each window, together, so that wallets share a transaction. */
const CHECK_WINDOW_MS = 5 * 60_000;

type DueTopUp = DueRule<TopUpRuleRow, ManagedWallet>;

/** What a check found: a top-up to make, or why there is none although the balance is low. */
interface TopUpOutcome {
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
  const database = openDb(env, undefined, {
    writes: "idempotent",
    deadline: deadline + WRITE_TIMEOUT_MS,
  });
  const due = await findDueRules(
    database,
    topUpRule,
    managedWallet,
    managedWallet.sourceId,
    sql`ifnull(${topUpRule.checkedAt}, 0) < ${now - (now % CHECK_WINDOW_MS)}`,
  );
  if (due.length === 0) return;
  const wallets = due.map(({ wallet }) => wallet);
  const funds = await readFunds(env, database, wallets, deadline);
  const balances = await readBalances(env, wallets, deadline, "wallet");
  const past = await readPastTopUps(database, wallets, now - DAY_MS);

  const payers = new Map<string, ManagedWallet>();
  const check = async (one: DueTopUp): Promise<void> => {
    const balance = balances.get(one.wallet.id);
    if (balance === undefined) return;
    const held = balance.get(one.rule.unit) ?? 0n;
    const outcome = decideOutcome(one, held, past, funds, now);
    if (outcome === null) return;
    const { send, waitsFor } = outcome;
    const changes = { balance: held.toString(), checkedAt: now, waitsFor };
    const transfers = send ? insertTransfer(database, toTransferRow(one, send, now)) : [];
    const isWritten = await writeRuleOutcome(database, topUpRule, one.rule, changes, transfers);
    if (isWritten && send) payers.set(send.from.id, send.from);
  };
  for (const one of due)
    for (const { error } of await forEachIsolated([one], () => check(one)))
      await writeFailure(database, one, error, { requestId, now });
  for (const { network, vkey } of payers.values()) await wakeWallet(env, network, vkey, requestId);
}

/** Null: it is not known. */
function decideOutcome(
  { rule, wallet }: DueTopUp,
  held: bigint,
  past: readonly PastTransfer[],
  funds: readonly FundingBalance[],
  now: number,
): TopUpOutcome | null {
  const own = past.filter(({ walletId, unit }) => walletId === wallet.id && unit === rule.unit);
  const decision = decideTopUp(boundsOf(rule), held, own, now);
  if (!("send" in decision)) return { send: null, waitsFor: describeWait(decision) };
  const ofSource = funds.filter((fund) => fund.wallet.sourceId === wallet.sourceId);
  return takeFunds(ofSource, rule.unit, decision.send);
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
  { requestId, now }: { requestId: string; now: number },
): Promise<void> {
  const place = { wallet: wallet.id, requestId, feature: "top-up", tasks: [rule.id] };
  const waitsFor = describeError(toTaskError(error, place));
  const failure = database.orm.update(topUpRule).set({ checkedAt: now, waitsFor });
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

/** Reads the Funding wallets of the payment sources of some wallets. */
async function readFunds(
  env: Env,
  database: Database,
  wallets: readonly ManagedWallet[],
  deadline: number,
): Promise<FundingBalance[]> {
  const sourceIds = [...new Set(wallets.map(({ sourceId }) => sourceId))];
  const sources = await Promise.all(sourceIds.map((id) => findActiveSource(database, id)));
  const payers = (await listActiveWallets(database, sourceIds)).filter((wallet) => {
    const source = sources.find((one) => one?.id === wallet.sourceId);
    return (
      wallet.role === "Funding" && source && selectAutomationMode(source, wallet) !== "nothing"
    );
  });
  const balances = await readBalances(env, payers, deadline, "wallet");
  return payers.map((wallet) => ({ wallet, remainingBalance: balances.get(wallet.id) ?? null }));
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
): TopUpOutcome | null {
  const wait = (waitsFor: string) => ({ send: null, waitsFor });
  if (funds.length === 0)
    return wait("a Funding wallet: the payment source has none that may be driven");
  const heldBy = ({ remainingBalance: left }: FundingBalance) => left?.get(unit) ?? 0n;
  const known = funds.filter(({ remainingBalance: left }) => left !== null);
  const richest = known.find((one) => known.every((other) => heldBy(one) >= heldBy(other)));
  if (richest === undefined) return null;
  const { wallet, remainingBalance: left } = richest;
  const held = heldBy(richest);
  if (held < amount)
    return wait(
      `funds: of ${amount} minor units the Funding wallet ${wallet.address} holds ${held}`,
    );
  left?.set(unit, held - amount);
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
  const walletIds = JSON.stringify(wallets.map(({ id }) => id));
  const rows = await database.orm
    .select()
    .from(transfer)
    .where(
      and(
        sql`${transfer.topUpWalletId} IN (SELECT value FROM json_each(${walletIds}))`,
        or(gt(transfer.updatedAt, since), inArray(transfer.state, ["Pending", "Sent"])),
      ),
    );
  return rows.map(({ topUpWalletId, coin, assets, tx, state, createdAt, updatedAt }) => {
    const [token] = assets;
    return {
      walletId: topUpWalletId ?? "",
      unit: token?.unit ?? "",
      amount: BigInt(token?.quantity ?? tx?.coin ?? coin),
      createdAt,
      endedAt: state === "Confirmed" || state === "Failed" ? updatedAt : null,
      hasFailed: state === "Failed",
    };
  });
}
