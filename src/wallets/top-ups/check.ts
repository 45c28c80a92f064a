import type { Network } from "../../chain/network.ts";
import { type Database, db, type Statement, statement, violates } from "../../db/client.ts";
import type { Env } from "../../env.ts";
import { isoTime } from "../../http/envelope.ts";
import { log } from "../../log.ts";
import type { ManagedWallet } from "../managed/find-wallet.ts";
import { readBalances } from "../managed/read-balances.ts";
import { describeError } from "../queue/errors.ts";
import { actOnEach, toTaskError } from "../queue/isolate.ts";
import { wakeWallet } from "../queue/wake-wallet.ts";
import { insertTransfer, newTransfer } from "../transfers/store.ts";
import type { TransferRow } from "../transfers/tables.ts";
import { boundsOf } from "./bounds.ts";
import { DAY_MS, decideTopUp, type TopUpDecision } from "./decide.ts";
import { Funds } from "./funds.ts";
import { type PastTransfer, topUpsSince } from "./past.ts";
import type { TopUpRuleRow } from "./tables.ts";

/** Rules are checked once in each window, together, so that wallets share a transaction. */
const WINDOW_MS = 5 * 60_000;
/** Rules checked per run; the next run, a minute later, continues. */
const PER_RUN = 50;
/** Time for writing the outcomes, after the balances were read. */
const WRITES_MS = 30_000;

/** A rule that is due, with its wallet. */
interface DueRule
  extends Pick<
    TopUpRuleRow,
    "id" | "unit" | "below" | "upTo" | "perDay" | "version" | "createdById"
  > {
  walletId: string;
  sourceId: string;
  network: Network;
  address: string;
}

/** What a check found: a top-up to make, or why there is none although the balance is low. */
interface Outcome {
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
  const database = db(env, undefined, { writes: "idempotent", deadline: deadline + WRITES_MS });
  const rules = await dueRules(database, now);
  if (rules.length === 0) return;
  const sourceIds = [...new Set(rules.map(({ sourceId }) => sourceId))];
  const funds = await Funds.read(env, database, sourceIds, deadline);
  const wallets = new Map(rules.map((rule) => [rule.walletId, { ...rule, id: rule.walletId }]));
  const balances = await readBalances(env, [...wallets.values()], deadline, "wallet");
  const past = await topUpsSince(database, [...wallets.keys()], now - DAY_MS);

  const payers = new Map<string, ManagedWallet>();
  const check = async (rule: DueRule): Promise<void> => {
    const balance = balances.get(rule.walletId);
    if (balance === undefined) return;
    const outcome = outcomeOf(rule, balance.get(rule.unit) ?? 0n, past, funds, now);
    if (outcome === null || !(await writeOutcome(database, rule, outcome, now))) return;
    if (outcome.send) payers.set(outcome.send.from.id, outcome.send.from);
  };
  for (const rule of rules)
    for (const { error } of await actOnEach([rule], () => check(rule)))
      await writeFailure(database, rule, error, { requestId, now });
  for (const { network, vkey } of payers.values()) await wakeWallet(env, network, vkey, requestId);
}

/** Rules that were not checked in this window. Sources take turns, as they do for low balances. */
function dueRules(database: Database, now: number): Promise<DueRule[]> {
  return database.all<DueRule>(
    `SELECT rule.id, unit, below, up_to AS upTo, per_day AS perDay, version,
       rule.created_by_id AS createdById, wallet_id AS walletId, source_id AS sourceId, network,
       address
     FROM top_up_rule AS rule JOIN managed_wallet AS wallet ON wallet.id = wallet_id
     WHERE enabled = 1 AND wallet.deleted_at IS NULL AND ifnull(checked_at, 0) < ?
     ORDER BY row_number() OVER (PARTITION BY source_id ORDER BY checked_at, rule.id), random()
     LIMIT ${PER_RUN}`,
    now - (now % WINDOW_MS),
  );
}

/** Null: it is not known. */
function outcomeOf(
  rule: DueRule,
  held: bigint,
  past: readonly PastTransfer[],
  funds: Funds,
  now: number,
): Outcome | null {
  const own = past.filter(({ walletId, unit }) => walletId === rule.walletId && unit === rule.unit);
  const decision = decideTopUp(boundsOf(rule), held, own, now);
  if (!("send" in decision)) return { held, send: null, waitsFor: reasonOf(decision) };
  const payer = funds.take(rule.sourceId, rule.unit, decision.send);
  if (payer === null) return null;
  if ("waitsFor" in payer) return { held, send: null, waitsFor: payer.waitsFor };
  return { held, send: { amount: decision.send, from: payer.wallet }, waitsFor: null };
}

/** For people. */
function reasonOf({ waitsFor, until }: Exclude<TopUpDecision, { send: bigint }>): string | null {
  const at = until === null ? "" : `, until ${isoTime(until)}`;
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
  { id, walletId }: DueRule,
  error: unknown,
  { requestId, now }: { requestId: string; now: number },
): Promise<void> {
  const failure = toTaskError(error, {
    wallet: walletId,
    requestId,
    feature: "top-up",
    tasks: [id],
  });
  const sql = "UPDATE top_up_rule SET checked_at = ?, waits_for = ? WHERE id = ?";
  await database.batch([statement(sql, now, describeError(failure), id)]);
}

/**
 * @returns false when the rule has changed since it was read, or the batch was sent twice. The cron
 *   then   finds the rule's transfer.
 */
async function writeOutcome(
  database: Database,
  rule: DueRule,
  { held, send, waitsFor }: Outcome,
  now: number,
): Promise<boolean> {
  const statements: Statement[] = [
    statement(
      `UPDATE top_up_rule SET version = iif(version = ?2, version + 1, NULL), balance = ?3,
         checked_at = ?4, waits_for = ?5
       WHERE id = ?1`,
      rule.id,
      rule.version,
      held.toString(),
      now,
      waitsFor,
    ),
  ];
  if (send) statements.push(...insertTransfer(database, transferOf(rule, send, now)));
  try {
    await database.batch(statements);
    return true;
  } catch (error) {
    if (!violates(error, "top_up_rule.version")) throw error;
    log("info", "top_up.superseded", { rule: rule.id });
    return false;
  }
}

function transferOf(
  { id, unit, network, sourceId, walletId, address, createdById }: DueRule,
  { amount, from }: NonNullable<Outcome["send"]>,
  now: number,
): TransferRow {
  const isNative = unit === "";
  return newTransfer(
    {
      network,
      sourceId,
      wallet: from,
      toAddress: address,
      // With tokens goes as much as the ledger wants.
      coin: isNative ? amount.toString() : "0",
      assets: isNative ? [] : [{ unit, quantity: amount.toString() }],
      topUp: { ruleId: id, walletId },
      createdById,
    },
    now,
  );
}
