import { DatabaseUnavailable } from "../../db/client.ts";
import { ApiError } from "../../http/errors.ts";
import { log } from "../../log.ts";
import { RpcUnavailable } from "../evm/rpc.ts";
import type { SettleAnswer } from "../model/messages.ts";
import { NoSettlementNetwork } from "../networks/settlement-network.ts";
import type { Attempt } from "./payment-state.ts";

/** The answer for a decided payment: what was settled, whatever the caller asked for. */
export function toSettleAnswer(
  { order, outcome }: Pick<Attempt, "order" | "outcome">,
  how: { replay: boolean; first: boolean },
): SettleAnswer {
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

/** @param transaction - hash of what was sent; empty when nothing was yet */
export function toPendingAnswer(
  { order, payer }: Attempt,
  replay: boolean,
  transaction: string,
): SettleAnswer {
  return {
    kind: "pending",
    attemptId: order.attemptId,
    replay,
    transaction,
    payer,
    network: order.requirements.network,
    amount: order.requirements.amount,
    errorReason: "settlement_pending",
    errorMessage:
      "No block includes the transaction yet. Send the same payment again for its state.",
    first: false,
  };
}

/** The answer when beginning an attempt failed: nothing was sent. */
export function toRefusal(error: unknown): SettleAnswer {
  const refused = (status: 402 | 404 | 502 | 503 | 504, message: string): SettleAnswer => ({
    kind: "refused",
    status,
    message,
  });
  if (error instanceof NoSettlementNetwork) return refused(404, error.message);
  if (error instanceof ApiError && error.status === 402) return refused(402, error.message);
  if (error instanceof RpcUnavailable)
    return error.timedOut
      ? refused(504, "The RPC node did not answer in time")
      : refused(502, "The RPC node failed");
  if (!(error instanceof DatabaseUnavailable))
    log("error", "x402.settle_failed", { error: String(error) });
  return refused(503, "The settlement did not start. Send the payment again.");
}
