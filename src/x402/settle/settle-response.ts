import { openDb } from "../../db/client.ts";
import type { AppContext } from "../../http/context.ts";
import { ApiError } from "../../http/errors.ts";
import { recordReplay } from "../attempts/record-attempts.ts";
import type { SettleOrder, SettleResponse } from "../model/messages.ts";
import type { SettlePaymentResponse } from "./schemas.ts";

const RETRY_AFTER_SECONDS = 5;

/**
 * The response for an answer with the state of a payment.
 *
 * @param now - epoch milliseconds
 * @throws ApiError for a conflict or refusal
 */
export async function toSettlePaymentResponse(
  c: AppContext,
  order: SettleOrder,
  answer: SettleResponse,
  now: number,
): Promise<SettlePaymentResponse> {
  throwRefusal(answer);
  setRetryAfter(c, answer);
  const replayed = await recordIfReplay(c, order, answer, now);
  const { kind, replay, transaction, payer, network, amount, errorReason, errorMessage } = answer;
  return {
    attemptId: replayed ?? answer.attemptId,
    paymentPayloadHash: order.payloadHash,
    paymentIdentifier: order.paymentIdentifier,
    replay,
    settleResponse: {
      success: kind === "settled",
      payer,
      transaction,
      network,
      amount,
      ...(errorReason !== null && { errorReason }),
      ...(errorMessage !== null && { errorMessage }),
    },
  };
}

/** An answer with the state of a payment. */
export type PaymentStateResponse = Exclude<SettleResponse, { kind: "conflict" | "refused" }>;

/** Sets Retry-After while the payment is undecided. */
export function setRetryAfter(c: AppContext, { kind }: PaymentStateResponse): void {
  if (kind === "pending") c.header("retry-after", String(RETRY_AFTER_SECONDS));
}

/**
 * Records a repeat of a settled payment as an attempt.
 *
 * @returns the attempt's id; null when the answer is not to a repeat of a settled payment
 */
export async function recordIfReplay(
  c: AppContext,
  order: SettleOrder,
  { kind, replay, attemptId, payer }: PaymentStateResponse,
  now: number,
): Promise<string | null> {
  if (kind !== "settled" || !replay) return null;
  const core = openDb(c.env, undefined, { writes: "idempotent", deadline: c.var.deadline });
  return recordReplay(core, order, { attemptId, payer }, now);
}

/** @throws ApiError for an answer that is not an outcome */
export function throwRefusal(answer: SettleResponse): asserts answer is PaymentStateResponse {
  if (answer.kind === "conflict")
    throw new ApiError(
      "identifier_reused",
      `paymentPayload: the authorization or identifier belongs to the attempt ${answer.attemptId}`,
    );
  if (answer.kind === "refused")
    throw new ApiError(
      answer.code ?? answer.status,
      answer.message,
      answer.status >= 503 ? { retryAfter: RETRY_AFTER_SECONDS } : {},
    );
}
