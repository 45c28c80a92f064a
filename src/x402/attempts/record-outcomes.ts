/** Writes the outcome of a verified attempt: status, settlement, event and credit. */
import { refundOperation } from "../../api-keys/credits.ts";
import { type Database, type Statement, statement, violates } from "../../db/client.ts";
import { newId } from "../../db/id.ts";
import type { AttemptOrder, AttemptOutcome } from "../model/messages.ts";
import { HOLDING_SQL } from "../model/tables.ts";
import { insertOutcomeEvent } from "./attempt-json.ts";
import { findAttemptState } from "./attempt-row.ts";
import { buildRelease } from "./sponsored-gas.ts";

/** A verified attempt and its outcome. */
export interface EndedAttempt {
  order: AttemptOrder;
  outcome: AttemptOutcome;
}

/**
 * Writes the first outcomes of verified attempts in one atomic batch. If the batch fails, each may
 * be written with `recordOutcome`.
 *
 * @returns whether an event was written
 * @throws when any has an outcome already, or the database fails
 */
export async function recordFirstOutcomes(
  core: Database,
  ended: readonly EndedAttempt[],
  now: number,
): Promise<boolean> {
  const outcomes = ended.map((one) => buildOutcomeStatements(one, 0, now));
  const events = new Set(outcomes.map((statements) => statements.at(-1)));
  const statements = outcomes.flat();
  const results = await core.batch(statements);
  return results.some(({ meta }, i) => events.has(statements[i]) && meta.changes > 0);
}

/**
 * Writes how a verified attempt ended: status, settlement, event, and the credit of a failure.
 * Safe to repeat: `revision`, which counts outcomes and nothing else, is the operation key.
 *
 * @param revision - how many outcomes were written before: 0, or more after re-orgs
 */
export async function recordOutcome(
  core: Database,
  order: AttemptOrder,
  outcome: AttemptOutcome,
  revision: number,
  now: number,
): Promise<void> {
  try {
    await core.batch(buildOutcomeStatements({ order, outcome }, revision, now));
  } catch (error) {
    if (!violates(error, "x402_payment_attempt.revision")) throw error;
    const own = await findAttemptState(core, order.attemptId);
    if (own?.revision !== revision + 1) throw error;
    // The object repeats an outcome until D1 is known to have it, so the stored outcome may be this one.
    // Otherwise the wallet wrote it without learning so, before a reorg led to the present outcome.
    const { success, transaction } = outcome;
    const isThis = success ? own.settledIn === transaction : own.status === "Failed";
    if (!isThis) await recordOutcome(core, order, outcome, revision + 1, now);
  }
}

/** The last one writes the event. */
function buildOutcomeStatements(
  { order, outcome }: EndedAttempt,
  revision: number,
  now: number,
): Statement[] {
  const { attemptId, caller } = order;
  const { success, payer, errorReason, errorMessage } = outcome;
  const isCharged = {
    sql: "EXISTS (SELECT 1 FROM x402_payment_attempt WHERE id = ? AND charged = 1)",
    params: [attemptId],
  };
  return [
    ...(success ? [] : refundOperation(caller, "x402-settle", isCharged)),
    statement(
      `UPDATE x402_payment_attempt SET status = ?, payer = ?, error_reason = ?,
         error_message = ?, charged = charged AND ?, updated_at = ?,
         payment_identifier = iif(? AND EXISTS (${IDENTIFIER_CONFLICT_SQL}), NULL, payment_identifier),
         revision = iif(revision = ?, revision + 1, NULL)
       WHERE id = ?`,
      success ? "Settled" : "Failed",
      payer,
      errorReason,
      errorMessage,
      success ? 1 : 0,
      now,
      success ? 1 : 0,
      revision,
      attemptId,
    ),
    ...buildRelease(order),
    ...buildSettlementStatements(
      { attemptId, apiKeyId: caller.id, amount: order.requirements.amount },
      outcome,
      now,
    ),
    insertOutcomeEvent(order, outcome, revision + 1, now),
  ];
}

/** A failed payment's identifier may belong to another when a re-org settles it after all. */
const IDENTIFIER_CONFLICT_SQL = `SELECT 1 FROM x402_payment_attempt AS other
  WHERE ${HOLDING_SQL}
    AND other.api_key_id = x402_payment_attempt.api_key_id
    AND other.payer = x402_payment_attempt.payer
    AND other.payment_identifier = x402_payment_attempt.payment_identifier
    AND other.id <> x402_payment_attempt.id`;

/** Writes the on-chain outcome. A settlement that a re-org undid is no success. A charge of 0 has no transaction. */
export function buildSettlementStatements(
  { attemptId, apiKeyId, amount }: { attemptId: string; apiKeyId: string; amount: string },
  { success, transaction, payer }: Pick<AttemptOutcome, "success" | "transaction" | "payer">,
  now: number,
): Statement[] {
  if (transaction === "" && !success)
    return [statement("UPDATE x402_settlement SET success = 0 WHERE attempt_id = ?", attemptId)];
  return [
    statement(
      `INSERT INTO x402_settlement
         (id, attempt_id, api_key_id, success, tx_hash, amount, payer, created_at)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?)
       ON CONFLICT (attempt_id) DO UPDATE SET success = excluded.success,
         tx_hash = excluded.tx_hash, amount = excluded.amount`,
      newId(now),
      attemptId,
      apiKeyId,
      success ? 1 : 0,
      transaction,
      amount,
      payer ?? "",
      now,
    ),
  ];
}
