import { openDb } from "../../db/client.ts";
import type { AppContext } from "../../http/context.ts";
import { ApiError } from "../../http/errors.ts";
import { recordReplay } from "../attempts/record-attempts.ts";
import type { PaymentReply, SettleOrder, SettleReply } from "../model/messages.ts";

const RETRY_AFTER_SECONDS = 5;

/**
 * The state of an order's payment, and the attempt of the request: a repeat of a settled payment is
 * recorded as another attempt. Sets Retry-After while the payment is undecided.
 *
 * @param now - epoch milliseconds
 * @throws ApiError for a conflict or refusal
 */
export async function recordReply(
  c: AppContext,
  order: SettleOrder,
  reply: SettleReply,
  now: number,
): Promise<{ payment: PaymentReply; attemptId: string }> {
  if (reply.kind === "conflict")
    throw new ApiError(
      "identifier_reused",
      `paymentPayload: the authorization or identifier belongs to the attempt ${reply.attemptId}`,
    );
  if (reply.kind === "refused")
    throw new ApiError(
      reply.code ?? reply.status,
      reply.message,
      reply.status >= 503 ? { retryAfter: RETRY_AFTER_SECONDS } : {},
    );
  if (reply.kind === "pending") c.header("retry-after", String(RETRY_AFTER_SECONDS));
  if (reply.kind !== "settled" || !reply.replay)
    return { payment: reply, attemptId: reply.attemptId };
  const core = openDb(c.env, undefined, { writes: "idempotent", deadline: c.var.deadline });
  return { payment: reply, attemptId: await recordReplay(core, order, reply, now) };
}
