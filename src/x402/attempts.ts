import { sql } from "drizzle-orm";
import { charge, refund } from "../api-keys/credits.ts";
import { type Database, type Statement, statement, violates } from "../db/client.ts";
import { newId } from "../db/id.ts";
import { attemptRow, type Outcome, outcomeEvent } from "./attempt-row.ts";
import type { SettleOrder } from "./settlement.ts";
import { x402Attempt } from "./tables.ts";

/** D1 knows of another attempt that holds the same payment: the object's memory was lost. */
export class AlreadyClaimed extends Error {
  override name = "AlreadyClaimed";
  readonly attemptId: string;

  constructor(attemptId: string) {
    super(`the attempt ${attemptId} holds this payment`);
    this.attemptId = attemptId;
  }
}

/**
 * Writes the attempt that is about to be settled, and takes the credit for it. Safe to repeat: the
 * attempt's id is the operation key.
 *
 * @param now - epoch milliseconds
 * @throws AlreadyClaimed; ApiError 402 by `throwIfOutOfCredits` of what it throws
 */
export async function recordVerified(
  core: Database,
  order: SettleOrder,
  payer: string,
  now: number,
): Promise<void> {
  const row = attemptRow(order, { status: "Verified", payer }, now);
  try {
    await core.batch([
      core.orm
        .insert(x402Attempt)
        .values({ ...row, charged: isCharged(order) })
        .toSQL(),
      ...charge(order.caller, "x402-settle"),
    ]);
  } catch (error) {
    if (violates(error, "x402_payment_attempt.id")) return;
    if (HELD_ONCE.some((column) => violates(error, `x402_payment_attempt.${column}`))) {
      // A repeat violates these too, and SQLite names whichever it looks at first.
      const holder = await holderOf(core, order);
      if (holder === order.attemptId) return;
      throw new AlreadyClaimed(holder);
    }
    throw error;
  }
}

/** As `charge` will have it: the caller is remembered for a while, in which its limit may end. */
function isCharged({ caller }: SettleOrder) {
  if (!caller.usageLimited) return false;
  return sql<boolean>`coalesce((SELECT usage_limited FROM api_key WHERE id = ${caller.id}), 0)`;
}

/** What one attempt holds that is settled or under way; the identifier per key. */
const HELD_ONCE = ["claim", "payment_payload_hash", "payment_identifier"];

async function holderOf(core: Database, order: SettleOrder): Promise<string> {
  const held = `SELECT id FROM x402_payment_attempt
    WHERE direction = 'InboundSettle' AND status IN ('Verified', 'Settled')`;
  const [row] = await core.all<{ id: string }>(
    // With OR, none of the indexes would be used.
    `${held} AND claim = ? UNION ${held} AND payment_payload_hash = ?
     UNION ${held} AND api_key_id = ? AND payment_identifier = ?`,
    order.claim,
    order.payloadHash,
    order.caller.id,
    order.paymentIdentifier,
  );
  return row?.id ?? "";
}

/** Writes an attempt that failed before anything was sent, with its event. Safe to repeat. */
export async function recordRefused(
  core: Database,
  order: SettleOrder,
  outcome: Outcome,
  now: number,
): Promise<void> {
  const { payer, errorReason, errorMessage } = outcome;
  const row = attemptRow(order, { status: "Failed", payer, errorReason, errorMessage }, now);
  try {
    await core.batch([
      core.orm.insert(x402Attempt).values(row).toSQL(),
      outcomeEvent(order, outcome, 1, now),
    ]);
  } catch (error) {
    if (!violates(error, "x402_payment_attempt.id")) throw error;
  }
}

/**
 * Writes how a verified attempt ended: status, settlement, event, and the credit of a failure.
 * Safe to repeat: `version` is the operation key.
 *
 * @param version - how many outcomes were written before: 0, and more after reorganisations
 */
export async function recordOutcome(
  core: Database,
  order: SettleOrder,
  outcome: Outcome,
  version: number,
  now: number,
): Promise<void> {
  const { attemptId, caller } = order;
  const { success, payer, errorReason, errorMessage } = outcome;
  const isCharged = {
    sql: "EXISTS (SELECT 1 FROM x402_payment_attempt WHERE id = ? AND charged = 1)",
    params: [attemptId],
  };
  try {
    await core.batch([
      ...(success ? [] : refund(caller, "x402-settle", isCharged)),
      statement(
        `UPDATE x402_payment_attempt SET status = ?, payer = ?, error_reason = ?,
           error_message = ?, charged = charged AND ?, updated_at = ?,
           payment_identifier = iif(? AND EXISTS (${IDENTIFIER_TAKEN}), NULL, payment_identifier),
           version = iif(version = ?, version + 1, NULL)
         WHERE id = ?`,
        success ? "Settled" : "Failed",
        payer,
        errorReason,
        errorMessage,
        success ? 1 : 0,
        now,
        success ? 1 : 0,
        version,
        attemptId,
      ),
      ...settlement(order, outcome, now),
      outcomeEvent(order, outcome, version + 1, now),
    ]);
  } catch (error) {
    if (!violates(error, "x402_payment_attempt.version")) throw error;
    // One object writes an attempt: a version beyond ours means that our own batch had applied.
    const written = await versionOf(core, attemptId);
    if (written === null || written <= version) throw error;
  }
}

/** A failed payment's identifier may belong to another when a reorganisation settles it after all. */
const IDENTIFIER_TAKEN = `SELECT 1 FROM x402_payment_attempt AS other
  WHERE other.direction = 'InboundSettle' AND other.status IN ('Verified', 'Settled')
    AND other.api_key_id = x402_payment_attempt.api_key_id
    AND other.payment_identifier = x402_payment_attempt.payment_identifier
    AND other.id <> x402_payment_attempt.id`;

/** What the attempt came to on the chain. One that a reorganisation undid is no success any more. */
function settlement(order: SettleOrder, outcome: Outcome, now: number): Statement[] {
  const { success, transaction, payer } = outcome;
  if (transaction === "")
    return [
      statement("UPDATE x402_settlement SET success = 0 WHERE attempt_id = ?", order.attemptId),
    ];
  return [
    statement(
      `INSERT INTO x402_settlement
         (id, attempt_id, api_key_id, success, tx_hash, amount, payer, created_at)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?)
       ON CONFLICT (attempt_id) DO UPDATE SET success = excluded.success,
         tx_hash = excluded.tx_hash`,
      newId(now),
      order.attemptId,
      order.caller.id,
      success ? 1 : 0,
      transaction,
      order.requirements.amount,
      payer ?? "",
      now,
    ),
  ];
}

async function versionOf(core: Database, attemptId: string): Promise<number | null> {
  const [row] = await core.all<{ version: number }>(
    "SELECT version FROM x402_payment_attempt WHERE id = ?",
    attemptId,
  );
  return row?.version ?? null;
}

/**
 * Fails an attempt whose beginning was given up, when it was written at all; the credit goes back.
 * It is written as failed even when it was not, so that a write which is still under way finds its
 * id taken. Safe to repeat.
 */
export async function withdraw(core: Database, order: SettleOrder, now: number): Promise<void> {
  const failed = {
    status: "Failed",
    payer: null,
    errorReason: "unexpected_settle_error",
    errorMessage: "The settlement was given up before anything was sent",
  } as const;
  const isCharged = {
    sql: "EXISTS (SELECT 1 FROM x402_payment_attempt WHERE id = ? AND charged = 1)",
    params: [order.attemptId],
  };
  await core.batch([
    ...refund(order.caller, "x402-settle", isCharged),
    core.orm
      .insert(x402Attempt)
      .values(attemptRow(order, failed, now))
      .onConflictDoUpdate({
        target: x402Attempt.id,
        set: { ...failed, charged: false, version: 1, updatedAt: now },
        setWhere: sql`status = 'Verified' AND version = 0`,
      })
      .toSQL(),
  ]);
}

/** The attempt that a repeat of a settled payment leaves; it shows the settlement of the original. */
export function replayedAttempt(
  core: Database,
  order: SettleOrder,
  original: string,
  payer: string | null,
  now: number,
): Statement[] {
  const row = attemptRow(order, { status: "Replayed", payer, replayOf: original }, now);
  return [core.orm.insert(x402Attempt).values(row).toSQL()];
}

/** Writes what a verification found, which settles nothing and is not charged. */
export async function recordVerification(
  core: Database,
  order: SettleOrder,
  found: { payer: string | null; errorReason: string | null; errorMessage: string | null },
  now: number,
): Promise<void> {
  const status = found.errorReason === null ? "Verified" : "Failed";
  const row = attemptRow(order, { status, ...found }, now);
  const insert = core.orm
    .insert(x402Attempt)
    .values({ ...row, direction: "InboundVerify" })
    .onConflictDoNothing({ target: x402Attempt.id });
  await core.batch([insert.toSQL()]);
}
