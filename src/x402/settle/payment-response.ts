import { DatabaseFullError, DatabaseUnavailableError } from "../../db/client.ts";
import { ApiError } from "../../http/errors.ts";
import { log } from "../../log.ts";
import type { ClaimingAttempt } from "../attempts/attempt-row.ts";
import { RpcUnavailableError } from "../evm/rpc.ts";
import type { AttemptOrder, JobStatus, SettleResponse } from "../model/messages.ts";
import { RemoteFacilitatorError } from "../networks/remote-facilitator.ts";
import { NoSettlementNetworkError } from "../networks/settlement-network.ts";
import { isSamePayment } from "./on-request.ts";
import type { PaymentAttempt } from "./payment-state.ts";

/** The answer for a decided payment: what was settled, whatever the caller asked for. */
export function toSettleResponse(
  { order, outcome }: Pick<PaymentAttempt, "order" | "outcome">,
  how: { replay: boolean; first: boolean },
): SettleResponse {
  if (!outcome) throw new Error("only a decided payment has an outcome");
  const { success, transaction, payer, errorReason, errorMessage } = outcome;
  return {
    kind: success ? "settled" : "failed",
    attemptId: order.attemptId,
    ...how,
    transaction,
    payer,
    network: order.requirements.network,
    amount: order.requirements.amount,
    errorReason,
    errorMessage,
  };
}

/** The answer for a payment that an attempt in D1 holds, and whose object has forgotten it. */
export function toHeldResponse(order: AttemptOrder, holder: ClaimingAttempt): SettleResponse {
  const { id, status, claim, payer, txHash, requirements } = holder;
  if (status !== "Settled" || claim !== order.claim || !isSamePayment(holder, order))
    return { kind: "conflict", attemptId: id };
  const outcome = { success: true, transaction: txHash ?? "", payer, errorReason: null };
  return toSettleResponse(
    {
      order: { ...order, attemptId: id, requirements },
      outcome: { ...outcome, errorMessage: null },
    },
    { replay: true, first: false },
  );
}

/**
 * @param transaction - hash of what was sent; empty when nothing was yet
 * @param message - null: no block has it yet
 */
export function toPendingResponse(
  { order, payer }: Pick<PaymentAttempt, "order" | "payer">,
  replay: boolean,
  { transaction, message }: Pick<JobStatus, "transaction" | "message">,
): SettleResponse {
  return {
    kind: "pending",
    attemptId: order.attemptId,
    replay,
    transaction,
    payer,
    network: order.requirements.network,
    amount: order.requirements.amount,
    errorReason: "settlement_pending",
    errorMessage: `${message ?? "No block includes the transaction yet."} Send the same payment again for its state.`,
    first: false,
  };
}

/** The answer when beginning an attempt failed: nothing was sent. */
export function toRefusal(error: unknown): SettleResponse {
  const toRefusedResponse = (
    status: 402 | 404 | 502 | 503 | 504,
    message: string,
  ): SettleResponse => ({
    kind: "refused",
    status,
    message,
  });
  if (error instanceof NoSettlementNetworkError) return toRefusedResponse(404, error.message);
  if (error instanceof ApiError && error.status === 402)
    return toRefusedResponse(402, error.message);
  if (error instanceof RpcUnavailableError)
    return error.timedOut
      ? toRefusedResponse(504, "The RPC node did not answer in time")
      : toRefusedResponse(502, "The RPC node failed");
  if (error instanceof RemoteFacilitatorError)
    return error.timedOut
      ? toRefusedResponse(504, "The other facilitator did not answer in time")
      : toRefusedResponse(502, "The other facilitator failed");
  if (error instanceof DatabaseFullError)
    return {
      kind: "refused",
      status: 503,
      code: "database_full",
      message: "The database is full. Send the payment again later.",
    };
  if (!(error instanceof DatabaseUnavailableError))
    log("error", "x402.settle_failed", { error: String(error) });
  return toRefusedResponse(503, "The settlement did not start. Send the payment again.");
}
