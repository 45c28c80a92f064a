/** Writes attempts that begin, are refused, withdrawn, replayed or only verified. */
import { sql } from "drizzle-orm";
import { chargeOperation, refundOperation } from "../../api-keys/credits.ts";
import type { ArchiveEnv } from "../../archive/open-archives.ts";
import { type Database, violates } from "../../db/client.ts";
import { newId } from "../../db/id.ts";
import type { AttemptOrder, AttemptOutcome } from "../model/messages.ts";
import { x402Attempt } from "../model/tables.ts";
import { insertOutcomeEvent } from "./attempt-json.ts";
import {
  findAttemptState,
  findClaimingAttempt,
  findIdentifierHolder,
  toAttemptRow,
} from "./attempt-row.ts";
import { buildCancellation, buildReservation, throwIfNotSponsored } from "./sponsored-gas.ts";

/**
 * D1 has another attempt that holds the same payment, because the object's storage was lost, or the
 * same payment identifier.
 */
export class AlreadyClaimedError extends Error {
  override name = "AlreadyClaimedError";
  readonly attemptId: string;
  readonly what: "payment" | "identifier";

  constructor(attemptId: string, what: "payment" | "identifier") {
    super(`the attempt ${attemptId} holds this ${what}`);
    this.attemptId = attemptId;
    this.what = what;
  }
}

/** What is known of a payment that may be settled. */
interface VerifiedPayment {
  payer: string;
  facilitator: string;
  /** Unix seconds. */
  validBefore: number;
  /** See `SettlementJob`. */
  maxCost?: string | undefined;
}

/**
 * Writes the attempt that is about to be settled, and charges its credit. Safe to repeat: the
 * attempt's id is the operation key.
 *
 * @param now - epoch milliseconds
 * @returns `ended` when the attempt was withdrawn before: nothing may be settled under it
 * @throws AlreadyClaimedError; GasNotSponsoredError; ApiError 402 by `throwIfOutOfCredits` of what it throws
 */
export async function recordVerifiedAttempt(
  env: ArchiveEnv,
  core: Database,
  order: AttemptOrder,
  { maxCost, ...verified }: VerifiedPayment,
  now: number,
): Promise<"written" | "ended"> {
  const row = toAttemptRow(order, { status: "Verified", ...verified }, now);
  const reservation =
    maxCost === undefined ? [] : [buildReservation(order, verified.payer, maxCost, now)];
  try {
    await core
      .batch([
        core.orm
          .insert(x402Attempt)
          .values({ ...row, charged: chargedSql(order) })
          .toSQL(),
        ...chargeOperation(order.caller, "x402-settle"),
        ...reservation,
      ])
      .catch(throwIfNotSponsored);
    return "written";
  } catch (error) {
    if (!UNIQUE_COLUMNS.some((column) => violates(error, `x402_payment_attempt.${column}`)))
      throw error;
    // A repeat violates each of these, and SQLite names the one it checks first. Only one object
    // writes rows of this id: this batch, which leaves it open, or a withdrawal, which ends it.
    const own = await findAttemptState(core, order.attemptId);
    if (own?.status === "Verified") {
      // The verdict on a repeat may have another cost.
      const renewal = [...buildCancellation(order), ...reservation];
      if (renewal.length > 0) await core.batch(renewal).catch(throwIfNotSponsored);
      return "written";
    }
    if (own) return "ended";
    const holder = await findClaimingAttempt(core, order);
    if (holder) throw new AlreadyClaimedError(holder.id, "payment");
    const identified = await findIdentifierHolder(env, core, order, verified.payer);
    if (identified !== null) throw new AlreadyClaimedError(identified, "identifier");
    // The other attempt has failed in the meantime.
    throw error;
  }
}

/** Reads the key's limit as `charge` does, since the cached caller may be outdated. */
function chargedSql({ caller }: AttemptOrder) {
  if (!caller.isUsageLimited) return false;
  return sql<boolean>`coalesce((SELECT usage_limited FROM api_key WHERE id = ${caller.id}), 0)`;
}

/** Unique columns: the id, and those that only a settled or pending attempt holds. */
const UNIQUE_COLUMNS = ["id", "claim", "payment_payload_hash", "payment_identifier"];

/** True for the row of an attempt whose settlement was begun and has no outcome. */
const OPEN_ATTEMPT_CONDITION = "status = 'Verified' AND revision = 0";

/** Whether the attempt is open and was charged. */
function openAndChargedCondition({ attemptId }: AttemptOrder) {
  return {
    sql: `EXISTS (SELECT 1 FROM x402_payment_attempt WHERE id = ? AND charged = 1 AND ${OPEN_ATTEMPT_CONDITION})`,
    params: [attemptId],
  };
}

/**
 * Writes an attempt that failed before anything was sent, with its event. A row that an earlier try
 * may have left open is ended, and its credit refunded. Safe to repeat: `revision` is the operation
 * key.
 */
export async function recordRefusal(
  core: Database,
  order: AttemptOrder,
  outcome: AttemptOutcome,
  now: number,
): Promise<void> {
  const { payer, errorReason, errorMessage } = outcome;
  const failed = { status: "Failed", payer, errorReason, errorMessage } as const;
  const row = { ...toAttemptRow(order, failed, now), revision: 1 };
  const revision = sql<number>`iif(${sql.raw(OPEN_ATTEMPT_CONDITION)}, 1, NULL)`;
  try {
    await core.batch([
      ...refundOperation(order.caller, "x402-settle", openAndChargedCondition(order)),
      core.orm
        .insert(x402Attempt)
        .values(row)
        .onConflictDoUpdate({
          target: x402Attempt.id,
          set: { ...failed, charged: false, revision, updatedAt: now },
        })
        .toSQL(),
      ...buildCancellation(order),
      insertOutcomeEvent(order, outcome, 1, now),
    ]);
  } catch (error) {
    if (!violates(error, "x402_payment_attempt.revision")) throw error;
    // Only this batch ends a refused attempt.
    const own = await findAttemptState(core, order.attemptId);
    if (own?.status !== "Failed") throw error;
  }
}

/**
 * Fails an attempt that was abandoned before it was begun, and refunds its credit. If its row was
 * never written, it is written as failed, so that a write still in flight finds its id taken. It is
 * not reported, so it does not count as an outcome. Safe to repeat.
 */
export async function cancelAttempt(
  core: Database,
  order: AttemptOrder,
  now: number,
): Promise<void> {
  const failed = {
    status: "Failed",
    payer: null,
    errorReason: "unexpected_settle_error",
    errorMessage: "The settlement ended before anything was sent",
  } as const;
  await core.batch([
    ...refundOperation(order.caller, "x402-settle", openAndChargedCondition(order)),
    core.orm
      .insert(x402Attempt)
      .values(toAttemptRow(order, failed, now))
      .onConflictDoUpdate({
        target: x402Attempt.id,
        set: { ...failed, charged: false, updatedAt: now },
        setWhere: sql.raw(OPEN_ATTEMPT_CONDITION),
      })
      .toSQL(),
    ...buildCancellation(order),
  ]);
}

/**
 * Writes the attempt for a repeat of a settled payment, which shows the original's settlement. It has
 * a new id, since another request may have settled the payment under the order's id.
 *
 * @returns the attempt's id
 */
export async function recordReplay(
  core: Database,
  order: AttemptOrder,
  original: { attemptId: string; payer: string | null },
  now: number,
): Promise<string> {
  const attemptId = newId(now);
  const outcome = {
    status: "Replayed",
    payer: original.payer,
    replayOf: original.attemptId,
  } as const;
  await insertOnce(core, toAttemptRow({ ...order, attemptId }, outcome, now));
  return attemptId;
}

/** Writes the result of a verification, which settles nothing and is not charged. */
export async function recordVerification(
  core: Database,
  order: AttemptOrder,
  found: { payer: string | null; errorReason: string | null; errorMessage: string | null },
  now: number,
): Promise<void> {
  const status = found.errorReason === null ? "Verified" : "Failed";
  const row = toAttemptRow(order, { status, ...found }, now);
  await insertOnce(core, { ...row, direction: "InboundVerify" });
}

/** Inserts a row. An existing row with its id, which was made for it, is the same, sent twice. */
async function insertOnce(core: Database, row: typeof x402Attempt.$inferInsert): Promise<void> {
  const insert = core.orm.insert(x402Attempt).values(row);
  await core.batch([insert.onConflictDoNothing({ target: x402Attempt.id }).toSQL()]);
}
