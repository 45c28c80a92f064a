import { DatabaseUnavailable } from "../db/client.ts";
import { ApiError } from "../http/errors.ts";
import { log } from "../log.ts";
import type { Outcome } from "./attempt-row.ts";
import { NoRail } from "./networks.ts";
import { RpcUnavailable } from "./rpc.ts";
import type { Job, JobStatus, SettleAnswer, SettleOrder } from "./settlement.ts";

/** A payment as the object of its authorization remembers it. */
export interface Payment {
  order: SettleOrder;
  /**
   * `claimed`: judged next, nothing is written elsewhere. `verified`: the wallet may have it.
   * `refused`: failed before the wallet had it. `ended`: decided, see `outcome`.
   */
  phase: "claimed" | "verified" | "refused" | "ended";
  payer: string | null;
  wallet: { id: string; caip2Id: string; address: string } | null;
  job: Job | null;
  outcome: Outcome | null;
  /** Outcomes that D1 has. */
  version: number;
  isRecorded: boolean;
  isFinal: boolean;
  /** Whether anybody was told of the success. */
  isTold: boolean;
  /** The attempt before, which a reorganisation may yet settle should nothing come of this one. */
  earlier: Payment | null;
}

/** The outcome of a payment that nothing came of. */
export const FAILED: Outcome = {
  success: false,
  transaction: "",
  payer: null,
  errorReason: null,
  errorMessage: null,
};

/** A payment that has just taken hold of its authorization. */
export function claim(order: SettleOrder, earlier: Payment | null): Payment {
  return {
    order,
    phase: "claimed",
    payer: null,
    wallet: null,
    job: null,
    outcome: null,
    version: 0,
    isRecorded: false,
    isFinal: false,
    isTold: false,
    earlier,
  };
}

/** Whether two orders are for one payment: the same payload, for the same resource. */
export function isSamePayment(a: SettleOrder, b: SettleOrder): boolean {
  return a.payloadHash === b.payloadHash && a.paymentSourceId === b.paymentSourceId;
}

/** Whether the order is of the request that began the payment. */
export function isOwn(payment: Payment, order: SettleOrder): boolean {
  return payment.order.requestId === order.requestId;
}

/** The payment as the wallet has decided it, which D1 is to be told. */
export function decidedBy(payment: Payment, status: JobStatus): Payment {
  const outcome = {
    success: status.state === "settled",
    transaction: status.transaction,
    payer: payment.payer,
    errorReason: status.reason,
    errorMessage: status.message,
  };
  return { ...payment, phase: "ended", isFinal: status.isFinal, isRecorded: false, outcome };
}

/** Whether the wallet still says what the outcome says; one failure is as good as another. */
export function isStill(outcome: Outcome, { state, transaction }: JobStatus): boolean {
  return outcome.success
    ? state === "settled" && transaction === outcome.transaction
    : state === "failed";
}

/** Whether the payment failed and D1 knows: another attempt may begin, however it is watched. */
export function hasFailed({ phase, outcome, isRecorded }: Payment): boolean {
  return phase === "ended" && isRecorded && outcome?.success === false;
}

/** What a decided payment is answered with. */
export function answerOf(
  { order, outcome, payer }: Payment,
  how: { replay: boolean; first: boolean },
): SettleAnswer {
  const { success, transaction, errorReason, errorMessage } = outcome ?? FAILED;
  return {
    kind: success ? "settled" : "failed",
    attemptId: order.attemptId,
    ...how,
    transaction,
    payer: outcome?.payer ?? payer,
    errorReason,
    errorMessage,
  };
}

/** What a beginning that failed is answered with: nothing was sent. */
export function refusalOf(error: unknown): SettleAnswer {
  const refused = (status: 402 | 404 | 502 | 503 | 504, message: string): SettleAnswer => ({
    kind: "refused",
    status,
    message,
  });
  if (error instanceof NoRail) return refused(404, error.message);
  if (error instanceof ApiError && error.status === 402) return refused(402, error.message);
  if (error instanceof RpcUnavailable)
    return error.timedOut
      ? refused(504, "The RPC node did not answer in time")
      : refused(502, "The RPC node failed");
  if (!(error instanceof DatabaseUnavailable))
    log("error", "x402.settle_failed", { error: String(error) });
  return refused(503, "The settlement could not be begun");
}

/** @param transaction - hash of what was sent; empty when nothing was yet */
export function pendingAnswer(
  payment: Payment,
  order: SettleOrder,
  transaction: string,
): SettleAnswer {
  return {
    kind: "pending",
    attemptId: payment.order.attemptId,
    replay: !isOwn(payment, order),
    transaction,
    payer: payment.payer,
    errorReason: "settlement_pending",
    errorMessage:
      "The transaction is not in a block yet; send the same payment again to learn more",
    first: false,
  };
}
