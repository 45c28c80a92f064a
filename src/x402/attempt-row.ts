/** What an order looks like in D1 and in its event. */
import type { Statement } from "../db/client.ts";
import { isoTime } from "../http/envelope.ts";
import { writeEvent } from "../webhooks/outbox.ts";
import type { SettleOrder } from "./settlement.ts";
import type { x402Attempt } from "./tables.ts";

/** How an attempt ended. */
export interface Outcome {
  success: boolean;
  /** Transaction hash; empty when there is none. */
  transaction: string;
  payer: string | null;
  errorReason: string | null;
  errorMessage: string | null;
}

type AttemptInsert = typeof x402Attempt.$inferInsert;

/**
 * The row of a settlement attempt.
 *
 * @param now - epoch milliseconds
 */
export function attemptRow(
  order: SettleOrder,
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

/** X402_PAYMENT_SETTLED or X402_PAYMENT_FAILED. */
export function outcomeEvent(
  order: SettleOrder,
  outcome: Outcome,
  sequence: number,
  now: number,
): Statement {
  const { requirements } = order;
  return writeEvent(
    {
      kind: outcome.success ? "X402_PAYMENT_SETTLED" : "X402_PAYMENT_FAILED",
      network: requirements.network,
      sourceId: null,
      ownerId: order.caller.id,
      recordId: order.attemptId,
      sequence,
      data: {
        attemptId: order.attemptId,
        paymentPayloadHash: order.payloadHash,
        supportedPaymentSourceId: order.paymentSourceId,
        registryRequestId: order.registryRequestId,
        caip2Network: requirements.network,
        asset: requirements.asset.toLowerCase(),
        amount: requirements.amount,
        payTo: requirements.payTo.toLowerCase(),
        payer: outcome.payer,
        txHash: outcome.transaction === "" ? null : outcome.transaction,
        success: outcome.success,
        errorReason: outcome.errorReason,
        errorMessage: outcome.errorMessage,
        settledAt: outcome.success ? isoTime(now) : null,
      },
    },
    now,
  );
}
