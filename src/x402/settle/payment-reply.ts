import { DatabaseFullError, DatabaseUnavailableError } from "../../db/client.ts";
import { ApiError } from "../../http/errors.ts";
import { log } from "../../log.ts";
import type { ClaimingAttempt } from "../attempts/attempt-row.ts";
import { RpcUnavailableError } from "../evm/rpc.ts";
import type { AttemptOrder, JobStatus, PaymentReply, SettleReply } from "../model/messages.ts";
import { RemoteFacilitatorError } from "../networks/remote-facilitator.ts";
import { NoSettlementNetworkError } from "../networks/settlement-network.ts";
import { isSamePayment } from "./on-request.ts";
import type { PaymentAttempt } from "./payment-state.ts";

/** The reply for a decided payment: what was settled, whatever the caller asked for. */
export function toOutcomeReply(
  { order, outcome }: Pick<PaymentAttempt, "order" | "outcome">,
  how: { replay: boolean; first: boolean },
): PaymentReply {
  if (!outcome) throw new Error("only a decided payment has an outcome");
  const { success, ...ended } = outcome;
  return { kind: success ? "settled" : "failed", ...toTerms(order), ...how, ...ended };
}

function toTerms({ attemptId, requirements: { network, amount } }: AttemptOrder) {
  return { attemptId, network, amount };
}

/** The reply for a payment that an attempt in D1 holds, and whose object has forgotten it. */
export function toHeldReply(order: AttemptOrder, holder: ClaimingAttempt): SettleReply {
  const { id: attemptId, status, claim, payer, txHash, requirements } = holder;
  if (status !== "Settled" || claim !== order.claim || !isSamePayment(holder, order))
    return { kind: "conflict", attemptId };
  return {
    kind: "settled",
    ...toTerms({ ...order, attemptId, requirements }),
    replay: true,
    first: false,
    transaction: txHash ?? "",
    payer,
    errorReason: null,
    errorMessage: null,
  };
}

/**
 * @param transaction - hash of what was sent; empty when nothing was yet
 * @param message - null: no block has it yet
 */
export function toPendingReply(
  { order, payer }: Pick<PaymentAttempt, "order" | "payer">,
  replay: boolean,
  { transaction, message }: Pick<JobStatus, "transaction" | "message">,
): PaymentReply {
  return {
    kind: "pending",
    ...toTerms(order),
    replay,
    first: false,
    transaction,
    payer,
    errorReason: "settlement_pending",
    errorMessage: `${message ?? "No block includes the transaction yet."} Send the same payment again for its state.`,
  };
}

type Refusal = Extract<SettleReply, { kind: "refused" }>;

/** The reply when beginning an attempt failed: nothing was sent. */
export function toRefusedReply(error: unknown): Refusal {
  const refuse = (status: Refusal["status"], message: string): Refusal => ({
    kind: "refused",
    status,
    message,
  });
  if (error instanceof NoSettlementNetworkError) return refuse(404, error.message);
  if (error instanceof ApiError && error.status === 402) return refuse(402, error.message);
  if (error instanceof RpcUnavailableError || error instanceof RemoteFacilitatorError) {
    const name = error instanceof RpcUnavailableError ? "RPC node" : "other facilitator";
    return error.timedOut
      ? refuse(504, `The ${name} did not answer in time`)
      : refuse(502, `The ${name} failed`);
  }
  if (error instanceof DatabaseFullError) {
    const message = "The database is full. Send the payment again later.";
    return { ...refuse(503, message), code: "database_full" };
  }
  if (!(error instanceof DatabaseUnavailableError))
    log("error", "x402.settle_failed", { error: String(error) });
  return refuse(503, "The settlement did not start. Send the payment again.");
}
