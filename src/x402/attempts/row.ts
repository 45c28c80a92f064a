/** An order as stored in D1. */

import type { AttemptOrder, JobStatus } from "../rpc-types.ts";
import type { x402Attempt } from "../tables.ts";

/**
 * The part of an order that is kept with an attempt. The payload is not: the request that resumes
 * the attempt brings it, as its hash shows.
 */
export function attemptOrder(order: AttemptOrder): AttemptOrder {
  const { network, asset, amount, payTo } = order.requirements;
  return {
    requestId: order.requestId,
    attemptId: order.attemptId,
    caller: order.caller,
    paymentSourceId: order.paymentSourceId,
    registryRequestId: order.registryRequestId,
    resource: order.resource,
    payloadHash: order.payloadHash,
    claim: order.claim,
    paymentIdentifier: order.paymentIdentifier,
    requirements: { network, asset, amount, payTo },
  };
}

/** How an attempt ended. */
export interface Outcome {
  success: boolean;
  /** Transaction hash; empty when there is none. */
  transaction: string;
  payer: string | null;
  errorReason: string | null;
  errorMessage: string | null;
}

/** The outcome that a wallet's job gives an attempt. */
export function outcomeOf(
  state: "settled" | "failed",
  { transaction, reason, message }: Pick<JobStatus, "transaction" | "reason" | "message">,
  payer: string | null,
): Outcome {
  const success = state === "settled";
  return { success, transaction, payer, errorReason: reason, errorMessage: message };
}

type AttemptInsert = typeof x402Attempt.$inferInsert;

/**
 * The row of a settlement attempt.
 *
 * @param now - epoch milliseconds
 */
export function attemptRow(
  order: AttemptOrder,
  how: Pick<AttemptInsert, "status" | "payer"> & Partial<AttemptInsert>,
  now: number,
): AttemptInsert {
  const { requirements, caller } = order;
  return {
    id: order.attemptId,
    direction: "InboundSettle",
    apiKeyId: caller.id,
    evmWalletId: null,
    registryRequestId: order.registryRequestId,
    supportedPaymentSourceId: order.paymentSourceId,
    caip2Id: requirements.network,
    asset: requirements.asset.toLowerCase(),
    amount: requirements.amount,
    payTo: requirements.payTo.toLowerCase(),
    resource: order.resource,
    paymentPayloadHash: order.payloadHash,
    claim: order.claim === "" ? null : order.claim,
    paymentIdentifier: order.paymentIdentifier,
    errorReason: null,
    errorMessage: null,
    replayOf: null,
    charged: false,
    version: 0,
    createdAt: now,
    updatedAt: now,
    ...how,
  };
}
