import { sql } from "drizzle-orm";
import { charge, refund } from "../../api-keys/credits.ts";
import { type Database, type Statement, statement, violates } from "../../db/client.ts";
import { newId } from "../../db/id.ts";
import type { AttemptOrder } from "../rpc-types.ts";
import { x402Attempt } from "../tables.ts";
import { outcomeEvent } from "./outcome-event.ts";
import { attemptRow, type Outcome } from "./row.ts";

/** D1 has another attempt that holds the same payment: the object's storage was lost. */
export class AlreadyClaimed extends Error {
  override name = "AlreadyClaimed";
  readonly attemptId: string;

  constructor(attemptId: string) {
    super(`the attempt ${attemptId} holds this payment`);
    this.attemptId = attemptId;
  }
}

/**
 * Writes the attempt that is about to be settled, and charges its credit. Safe to repeat: the
 * attempt's id is the operation key.
 *
 * @param now - epoch milliseconds
 * @returns `ended` when the attempt was withdrawn before: nothing may be settled under it
 * @throws AlreadyClaimed; ApiError 402 by `throwIfOutOfCredits` of what it throws
 */
export async function recordVerified(
  core: Database,
  order: AttemptOrder,
  payer: string,
  now: number,
): Promise<"written" | "ended"> {
  const row = attemptRow(order, { status: "Verified", payer }, now);
  try {
    await core.batch([
      core.orm
        .insert(x402Attempt)
        .values({ ...row, charged: isCharged(order) })
        .toSQL(),
      ...charge(order.caller, "x402-settle"),
    ]);
    return "written";
  } catch (error) {
    if (!HELD_ONCE.some((column) => violates(error, `x402_payment_attempt.${column}`))) throw error;
    // A repeat violates each of these, and SQLite names the one it checks first. Only one object
    // writes rows of this id: this batch, which leaves it open, or a withdrawal, which ends it.
    const own = await standingOf(core, order.attemptId);
    if (own) return own.status === "Verified" ? "written" : "ended";
    const holder = await holderOf(core, order);
    // It has failed in the meantime.
    if (holder === null) throw error;
    throw new AlreadyClaimed(holder);
  }
}

/** As `charge` sees it: the caller is cached for a while, in which its limit may be lifted. */
function isCharged({ caller }: AttemptOrder) {
  if (!caller.usageLimited) return false;
  return sql<boolean>`coalesce((SELECT usage_limited FROM api_key WHERE id = ${caller.id}), 0)`;
}

/** What one attempt holds: its id, and while it is settled or pending these, the last per key. */
const HELD_ONCE = ["id", "claim", "payment_payload_hash", "payment_identifier"];

async function holderOf(core: Database, order: AttemptOrder): Promise<string | null> {
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
  return row?.id ?? null;
}

/** The state of an attempt's row; null when there is none. */
async function standingOf(core: Database, attemptId: string) {
  const [row] = await core.all<{ status: string; version: number; settledIn: string | null }>(
    `SELECT status, version, (SELECT tx_hash FROM x402_settlement
       WHERE attempt_id = x402_payment_attempt.id AND success = 1) AS settledIn
     FROM x402_payment_attempt WHERE id = ?`,
    attemptId,
  );
  return row ?? null;
}

/** True for the row of an attempt whose settlement was begun and has no outcome. */
const IS_OPEN = "status = 'Verified' AND version = 0";

/** Whether the attempt is open and was charged. */
function isOpenAndCharged({ attemptId }: AttemptOrder) {
  return {
    sql: `EXISTS (SELECT 1 FROM x402_payment_attempt WHERE id = ? AND charged = 1 AND ${IS_OPEN})`,
    params: [attemptId],
  };
}

/**
 * Writes an attempt that failed before anything was sent, with its event. A row that an earlier try
 * may have left open is ended, and its credit refunded. Safe to repeat: `version` is the operation
 * key.
 */
export async function recordRefused(
  core: Database,
  order: AttemptOrder,
  outcome: Outcome,
  now: number,
): Promise<void> {
  const { payer, errorReason, errorMessage } = outcome;
  const failed = { status: "Failed", payer, errorReason, errorMessage } as const;
  const row = { ...attemptRow(order, failed, now), version: 1 };
  const version = sql<number>`iif(${sql.raw(IS_OPEN)}, 1, NULL)`;
  try {
    await core.batch([
      ...refund(order.caller, "x402-settle", isOpenAndCharged(order)),
      core.orm
        .insert(x402Attempt)
        .values(row)
        .onConflictDoUpdate({
          target: x402Attempt.id,
          set: { ...failed, charged: false, version, updatedAt: now },
        })
        .toSQL(),
      outcomeEvent(order, outcome, 1, now),
    ]);
  } catch (error) {
    if (!violates(error, "x402_payment_attempt.version")) throw error;
    // Only this batch ends a refused attempt.
    const own = await standingOf(core, order.attemptId);
    if (own?.status !== "Failed") throw error;
  }
}

/** How a verified attempt ended, to be written. */
export interface Ended {
  order: AttemptOrder;
  outcome: Outcome;
}

/**
 * Writes the first outcomes of verified attempts in one batch: all of them, or none. Those that are
 * not known to be written then are safe to write one by one with `recordOutcome`.
 *
 * @throws when any has an outcome already, or the database fails
 */
export async function recordFirstOutcomes(
  core: Database,
  ended: readonly Ended[],
  now: number,
): Promise<void> {
  await core.batch(ended.flatMap((one) => outcomeStatements(one, 0, now)));
}

/**
 * Writes how a verified attempt ended: status, settlement, event, and the credit of a failure.
 * Safe to repeat: `version`, which counts outcomes and nothing else, is the operation key.
 *
 * @param version - how many outcomes were written before: 0, or more after re-orgs
 */
export async function recordOutcome(
  core: Database,
  order: AttemptOrder,
  outcome: Outcome,
  version: number,
  now: number,
): Promise<void> {
  try {
    await core.batch(outcomeStatements({ order, outcome }, version, now));
  } catch (error) {
    if (!violates(error, "x402_payment_attempt.version")) throw error;
    const own = await standingOf(core, order.attemptId);
    if (own?.version !== version + 1) throw error;
    // The object repeats an outcome until D1 is known to have it, so the next is this one; or it is
    // one that the wallet wrote without learning that it had, before a re-org led to this.
    const { success, transaction } = outcome;
    const isThis = success ? own.settledIn === transaction : own.status === "Failed";
    if (!isThis) await recordOutcome(core, order, outcome, version + 1, now);
  }
}

function outcomeStatements({ order, outcome }: Ended, version: number, now: number): Statement[] {
  const { attemptId, caller } = order;
  const { success, payer, errorReason, errorMessage } = outcome;
  const isCharged = {
    sql: "EXISTS (SELECT 1 FROM x402_payment_attempt WHERE id = ? AND charged = 1)",
    params: [attemptId],
  };
  return [
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
  ];
}

/** A failed payment's identifier may belong to another when a re-org settles it after all. */
const IDENTIFIER_TAKEN = `SELECT 1 FROM x402_payment_attempt AS other
  WHERE other.direction = 'InboundSettle' AND other.status IN ('Verified', 'Settled')
    AND other.api_key_id = x402_payment_attempt.api_key_id
    AND other.payment_identifier = x402_payment_attempt.payment_identifier
    AND other.id <> x402_payment_attempt.id`;

/** The attempt's on-chain outcome. One that a re-org undid is no longer a success. */
function settlement(order: AttemptOrder, outcome: Outcome, now: number): Statement[] {
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

/**
 * Fails an attempt that was abandoned before it was begun, and refunds its credit. If its row was
 * never written, it is written as failed, so that a write still in flight finds its id taken. It is
 * not reported, so it does not count as an outcome. Safe to repeat.
 */
export async function withdraw(core: Database, order: AttemptOrder, now: number): Promise<void> {
  const failed = {
    status: "Failed",
    payer: null,
    errorReason: "unexpected_settle_error",
    errorMessage: "The settlement was given up before anything was sent",
  } as const;
  await core.batch([
    ...refund(order.caller, "x402-settle", isOpenAndCharged(order)),
    core.orm
      .insert(x402Attempt)
      .values(attemptRow(order, failed, now))
      .onConflictDoUpdate({
        target: x402Attempt.id,
        set: { ...failed, charged: false, updatedAt: now },
        setWhere: sql.raw(IS_OPEN),
      })
      .toSQL(),
  ]);
}

/** The attempt recorded for a repeat of a settled payment; it shows the original's settlement. */
export function replayedAttempt(
  core: Database,
  order: AttemptOrder,
  original: string,
  payer: string | null,
  now: number,
): Statement[] {
  const row = attemptRow(order, { status: "Replayed", payer, replayOf: original }, now);
  return [core.orm.insert(x402Attempt).values(row).toSQL()];
}

/** Writes the result of a verification, which settles nothing and is not charged. */
export async function recordVerification(
  core: Database,
  order: AttemptOrder,
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
