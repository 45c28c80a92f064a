import type { Network } from "../../chain/network.ts";
import { type Database, db, type Statement, statement, violates } from "../../db/client.ts";
import type { Env } from "../../env.ts";
import { wakeDispatcher, writeEvent } from "../../events/outbox.ts";
import { log } from "../../log.ts";
import { readBalances } from "../managed/read-balances.ts";

/** How long a check is valid: each costs one provider call per wallet. */
const EVERY_MS = 10 * 60_000;
/** Rules checked per run; the next run, a minute later, continues. */
const PER_RUN = 50;
/** Time for writing the outcomes, after the balances were read. */
const WRITES_MS = 30_000;

/** A rule that is due, with its wallet. */
interface DueRule {
  id: string;
  unit: string;
  threshold: string;
  status: "Unknown" | "Healthy" | "Low";
  sequence: number;
  version: number;
  walletId: string;
  sourceId: string;
  network: Network;
  address: string;
  vkey: string;
}

/**
 * Checks the rules that are due. When its balance falls below the threshold, a rule writes one
 * `WALLET_LOW_BALANCE` event, and the next only after it was above again. A balance that cannot be
 * read changes nothing.
 *
 * @param now - epoch milliseconds
 * @param deadline - epoch milliseconds until which the providers are waited for
 */
export async function checkLowBalances(
  env: Env,
  requestId: string,
  now: number,
  deadline: number,
): Promise<void> {
  const database = db(env, undefined, { writes: "idempotent", deadline: deadline + WRITES_MS });
  const rules = await dueRules(database, now);
  if (rules.length === 0) return;
  const wallets = new Map(rules.map((rule) => [rule.walletId, { ...rule, id: rule.walletId }]));
  const balances = await readBalances(env, [...wallets.values()], deadline, "wallet");

  let events = 0;
  for (const rule of rules) {
    const balance = balances.get(rule.walletId);
    if (!balance) continue;
    const held = balance.get(rule.unit) ?? 0n;
    const isLow = held < BigInt(rule.threshold);
    const isReported = isLow && rule.status !== "Low";
    const outcome = { status: isLow ? "Low" : "Healthy", held, tells: isReported } as const;
    if ((await writeOutcome(database, rule, outcome, now)) && isReported) events++;
  }
  if (events > 0) await wakeDispatcher(env, requestId);
}

/**
 * A source's rules that were never checked come first, then those whose check is oldest. Sources
 * take turns in no fixed order: one whose provider fails keeps its rules due, and must not hold up
 * others.
 */
function dueRules(database: Database, now: number): Promise<DueRule[]> {
  return database.all<DueRule>(
    `SELECT rule.id, unit, threshold, status, sequence, version, wallet_id AS walletId,
       source_id AS sourceId, network, address, vkey
     FROM low_balance_rule AS rule JOIN managed_wallet AS wallet ON wallet.id = wallet_id
     WHERE enabled = 1 AND wallet.deleted_at IS NULL AND ifnull(checked_at, 0) <= ?
     ORDER BY row_number() OVER (PARTITION BY source_id ORDER BY checked_at, rule.id), random()
     LIMIT ${PER_RUN}`,
    now - EVERY_MS,
  );
}

/**
 * @returns false when the rule has changed since it was read, or the batch was sent twice. The
 *   sweep then   finds the rule's event.
 */
async function writeOutcome(
  database: Database,
  rule: DueRule,
  { status, held, tells }: { status: "Healthy" | "Low"; held: bigint; tells: boolean },
  now: number,
): Promise<boolean> {
  const statements: Statement[] = [
    statement(
      `UPDATE low_balance_rule SET version = iif(version = ?2, version + 1, NULL), status = ?3,
         balance = ?4, checked_at = ?5, sequence = sequence + ?6
       WHERE id = ?1`,
      rule.id,
      rule.version,
      status,
      held.toString(),
      now,
      Number(tells),
    ),
  ];
  if (tells)
    statements.push(
      writeEvent(
        {
          kind: "WALLET_LOW_BALANCE",
          network: rule.network,
          sourceId: rule.sourceId,
          ownerId: null,
          walletIds: [rule.walletId],
          recordId: rule.id,
          sequence: rule.sequence + 1,
          data: {
            ruleId: rule.id,
            walletId: rule.walletId,
            walletVkey: rule.vkey,
            walletAddress: rule.address,
            network: rule.network,
            paymentSourceId: rule.sourceId,
            unit: rule.unit,
            thresholdAmount: rule.threshold,
            balance: held.toString(),
          },
        },
        now,
        { sql: "EXISTS (SELECT 1 FROM low_balance_rule WHERE id = ?)", params: [rule.id] },
      ),
    );
  try {
    await database.batch(statements);
    return true;
  } catch (error) {
    if (!violates(error, "low_balance_rule.version")) throw error;
    log("info", "low_balance.superseded", { rule: rule.id });
    return false;
  }
}
