import { openDb } from "../db/client.ts";
import type { AppContext } from "../http/context.ts";
import { log } from "../log.ts";
import {
  chargeOperation,
  type MeteredOperation,
  refundOperation,
  throwIfOutOfCredits,
} from "./credits.ts";

/**
 * Does the work of a metered call. The call is charged before the work begins, so that concurrent calls
 * do no more work than the key has credits for. Work that throws costs nothing.
 *
 * Neither the charge nor its refund is ever sent twice. If an answer is lost, the key may have paid for a
 * failed call. It never gains a credit.
 *
 * @throws ApiError 402 before anything was done; what `work` throws
 */
export async function runWithCharge<T>(
  c: AppContext,
  operation: MeteredOperation,
  work: () => Promise<T>,
): Promise<T> {
  const isCharged = await chargeCall(c, operation);
  try {
    return await work();
  } catch (error) {
    if (isCharged) await refundCall(c, operation);
    throw error;
  }
}

/** Logs a failed refund, since the caller gets the error of the work. */
async function refundCall(c: AppContext, operation: MeteredOperation): Promise<void> {
  const { caller, requestId } = c.var;
  try {
    // The work may have failed by the request's deadline.
    await openDb(c.env).batch(refundOperation(caller, operation, { sql: "TRUE", params: [] }));
  } catch (error) {
    log("error", "credits.not_given_back", {
      key: caller.id,
      operation,
      requestId,
      error: String(error),
    });
  }
}

/**
 * Charges a call whose work is done already, before it is answered; `requireCredits` has looked
 * before the work began.
 *
 * @returns false for a key without a limit
 * @throws ApiError 402
 */
export async function chargeCall(c: AppContext, operation: MeteredOperation): Promise<boolean> {
  const charges = chargeOperation(c.var.caller, operation);
  if (charges.length === 0) return false;
  const [charged] = await openDb(c.env, undefined, { deadline: c.var.deadline })
    .batch(charges)
    .catch(throwIfOutOfCredits);
  return Boolean(charged?.meta.changes);
}
