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
  const { caller, deadline } = c.var;
  const charges = chargeOperation(caller, operation);
  if (charges.length === 0) return work();
  const [charged] = await openDb(c.env, undefined, { deadline })
    .batch(charges)
    .catch(throwIfOutOfCredits);
  try {
    return await work();
  } catch (error) {
    // A key without a limit was not charged.
    if (charged?.meta.changes) await refundCall(c, operation);
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
 * @throws ApiError 402
 */
export async function chargeCall(c: AppContext, operation: MeteredOperation): Promise<void> {
  const charges = chargeOperation(c.var.caller, operation);
  if (charges.length === 0) return;
  await openDb(c.env, undefined, { deadline: c.var.deadline })
    .batch(charges)
    .catch(throwIfOutOfCredits);
}
