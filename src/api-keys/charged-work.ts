import { db } from "../db/client.ts";
import type { AppContext } from "../http/context.ts";
import { log } from "../log.ts";
import type { MeteredOperation } from "./costs.ts";
import { charge, refund, throwIfOutOfCredits } from "./credits.ts";

/**
 * Does the work of a metered call. The call is charged before the work begins, so that concurrent calls
 * do no more work than the key has credits for. Work that throws costs nothing.
 *
 * Neither the charge nor its refund is ever sent twice. If the answer to one of them is lost, the key
 * may have paid for a failed call, but never gains a credit.
 *
 * @throws ApiError 402 before anything was done; what `work` throws
 */
export async function chargedWork<T>(
  c: AppContext,
  operation: MeteredOperation,
  work: () => Promise<T>,
): Promise<T> {
  const { caller, deadline } = c.var;
  const charges = charge(caller, operation);
  if (charges.length === 0) return work();
  const [taken] = await db(c.env, undefined, { deadline })
    .batch(charges)
    .catch(throwIfOutOfCredits);
  try {
    return await work();
  } catch (error) {
    // A key whose limit was just lifted paid nothing.
    if (taken?.meta.changes) await giveBack(c, operation);
    throw error;
  }
}

/** The caller gets the work's error, not this one. */
async function giveBack(c: AppContext, operation: MeteredOperation): Promise<void> {
  const { caller, requestId } = c.var;
  try {
    // The work may have failed by the request's deadline.
    await db(c.env).batch(refund(caller, operation, { sql: "TRUE", params: [] }));
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
  const charges = charge(c.var.caller, operation);
  if (charges.length === 0) return;
  await db(c.env, undefined, { deadline: c.var.deadline })
    .batch(charges)
    .catch(throwIfOutOfCredits);
}
