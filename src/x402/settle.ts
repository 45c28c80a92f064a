import { db, violates } from "../db/client.ts";
import { newId } from "../db/id.ts";
import type { AppContext } from "../http/context.ts";
import { ApiError } from "../http/errors.ts";
import { log } from "../log.ts";
import { wakeDispatcher } from "../webhooks/outbox.ts";
import { recordRefused, replayedAttempt } from "./attempts.ts";
import { claimOf, InvalidPayload, readAuthorization } from "./authorization.ts";
import { payloadHash } from "./payload-hash.ts";
import { paymentIdentifierOf, refuseReusedIdentifier } from "./payment-identifier.ts";
import { type PaymentSourceRow, requirementsOf, requirePaymentSource } from "./payment-sources.ts";
import type { PaymentPayload, PaymentRequirements } from "./schemas.ts";
import { paymentObject, type SettleAnswer, type SettleOrder } from "./settlement.ts";

/** Longest that a caller waits for a block; the settlement goes on after it. */
const MAX_WAIT_MS = 25_000;
const RETRY_AFTER_SECONDS = 5;
const OBJECT_PAUSE_MS = 100;

/** What POST /x402/settle answers. */
export interface Settled {
  attemptId: string;
  paymentPayloadHash: string;
  paymentIdentifier: string | null;
  replay: boolean;
  settleResponse: {
    success: boolean;
    payer: string | null;
    transaction: string;
    network: string;
    amount: string;
    errorReason?: string;
    errorMessage?: string;
  };
}

/**
 * Settles a payment for a registered resource, once.
 *
 * @param now - epoch milliseconds
 * @throws ApiError 400, 402, 403, 404, 409, 502, 503, 504; never a 5xx once anything was sent
 */
export async function settleForSource(
  c: AppContext,
  body: { supportedPaymentSourceId: string; paymentPayload: PaymentPayload },
  now: number,
): Promise<Settled> {
  const order = await sourceOrder(c, body, now);
  await refuseReusedIdentifier(db(c.env, undefined, { deadline: c.var.deadline }), order);
  const answer = await settleOrder(c, order, now);
  return settledBody(c, order, answer, now);
}

/** The order for a payment of a registered resource, which must be what the payer accepted. */
export async function sourceOrder(
  c: AppContext,
  body: { supportedPaymentSourceId: string; paymentPayload: PaymentPayload },
  now: number,
): Promise<SettleOrder> {
  const source = await requirePaymentSource(c, body.supportedPaymentSourceId);
  const { paymentPayload: payload } = body;
  refuseMismatch(source, payload);
  return orderOf(c, payload, requirementsOf(source), source, now);
}

/** @throws ApiError 400 naming the first field that differs */
function refuseMismatch(source: PaymentSourceRow, payload: PaymentPayload): void {
  const { accepted, resource, x402Version } = payload;
  const refuse = (field: string, expected: string | number) => {
    throw new ApiError(400, `paymentPayload.${field}: must be ${expected}`);
  };
  if (x402Version !== 2) refuse("x402Version", 2);
  if (resource?.url !== source.url) refuse("resource.url", source.url);
  if (accepted.scheme !== "exact") refuse("accepted.scheme", "exact");
  if (accepted.network !== source.caip2Id) refuse("accepted.network", source.caip2Id);
  if (accepted.asset.toLowerCase() !== source.asset) refuse("accepted.asset", source.asset);
  if (accepted.amount !== source.amount) refuse("accepted.amount", source.amount);
  if (accepted.payTo.toLowerCase() !== source.payTo) refuse("accepted.payTo", source.payTo);
  if (accepted.maxTimeoutSeconds !== source.maxTimeoutSeconds)
    refuse("accepted.maxTimeoutSeconds", source.maxTimeoutSeconds);
}

/**
 * An order as the objects take it. `claim` is empty for a payload without an authorization.
 *
 * @param source - null when a resource server brings its own requirements
 */
export async function orderOf(
  c: AppContext,
  payload: PaymentPayload,
  requirements: PaymentRequirements,
  source: PaymentSourceRow | null,
  now: number,
): Promise<SettleOrder> {
  return {
    v: 1,
    requestId: c.var.requestId,
    attemptId: newId(now),
    caller: c.var.caller,
    paymentSourceId: source?.id ?? null,
    registryRequestId: source?.registryRequestId ?? null,
    resource: source?.url ?? null,
    payload,
    payloadHash: await payloadHash(payload),
    claim: claimIn(payload, requirements),
    paymentIdentifier: paymentIdentifierOf(payload),
    requirements,
    waitMs: Math.min(requirements.maxTimeoutSeconds * 1000, MAX_WAIT_MS),
  };
}

function claimIn(payload: PaymentPayload, { network, asset }: PaymentRequirements): string {
  try {
    return claimOf(network, asset, readAuthorization(payload.payload));
  } catch (error) {
    if (error instanceof InvalidPayload) return "";
    throw error;
  }
}

/** Has the payment settled by the object of its authorization. */
export async function settleOrder(
  c: AppContext,
  order: SettleOrder,
  now: number,
): Promise<SettleAnswer> {
  if (order.claim === "") return refuseWithoutAuthorization(c, order, now);
  const deadline = Date.now() + order.waitMs;
  let { attemptId } = order;
  for (;;) {
    const waitMs = deadline - Date.now();
    try {
      return await paymentObject(c.env, order.claim).settle({ ...order, attemptId, waitMs });
    } catch (error) {
      // The object may have been moved after it had begun: asked again, it joins what it finds.
      const { requestId } = order;
      log("warn", "x402.object_failed", { requestId, error: String(error) });
      if (Date.now() + OBJECT_PAUSE_MS >= deadline) return unknownAnswer(order);
      await scheduler.wait(OBJECT_PAUSE_MS);
      // What was begun under the first id may have failed since, and is not begun again.
      attemptId = newId(Date.now());
    }
  }
}

async function refuseWithoutAuthorization(
  c: AppContext,
  order: SettleOrder,
  now: number,
): Promise<SettleAnswer> {
  let message = "payload: needs an authorization";
  try {
    readAuthorization(order.payload.payload);
  } catch (error) {
    if (!(error instanceof InvalidPayload)) throw error;
    message = error.message;
  }
  const outcome = {
    success: false,
    transaction: "",
    payer: null,
    errorReason: "invalid_payload",
    errorMessage: message,
  };
  const core = db(c.env, undefined, { writes: "idempotent", deadline: c.var.deadline });
  await recordRefused(core, order, outcome, now);
  await wakeDispatcher(c.env, order.requestId);
  const { success: _, ...standing } = outcome;
  return { kind: "failed", attemptId: order.attemptId, replay: false, first: true, ...standing };
}

/** Nobody can say whether anything was sent, so nothing is denied. */
function unknownAnswer(order: SettleOrder): SettleAnswer {
  return {
    kind: "pending",
    attemptId: order.attemptId,
    replay: false,
    transaction: "",
    payer: null,
    errorReason: "settlement_pending",
    errorMessage: "The outcome is not known yet; send the same payment again to learn it",
    first: false,
  };
}

async function settledBody(
  c: AppContext,
  order: SettleOrder,
  answer: SettleAnswer,
  now: number,
): Promise<Settled> {
  throwRefusal(answer);
  const { kind, replay, transaction, payer, errorReason, errorMessage } = answer;
  if (kind === "pending") c.header("retry-after", String(RETRY_AFTER_SECONDS));
  const attemptId =
    kind === "settled" && replay
      ? await recordReplayed(c, order, answer.attemptId, payer, now)
      : answer.attemptId;
  return {
    attemptId,
    paymentPayloadHash: order.payloadHash,
    paymentIdentifier: order.paymentIdentifier,
    replay,
    settleResponse: {
      success: kind === "settled",
      payer,
      transaction,
      network: order.requirements.network,
      amount: order.requirements.amount,
      ...(errorReason !== null && { errorReason }),
      ...(errorMessage !== null && { errorMessage }),
    },
  };
}

/**
 * Writes the attempt that a repeat leaves. It has an id of its own: under that of the order another
 * request may have settled the payment, when the object went down in between.
 */
async function recordReplayed(
  c: AppContext,
  order: SettleOrder,
  original: string,
  payer: string | null,
  now: number,
): Promise<string> {
  const core = db(c.env, undefined, { writes: "idempotent", deadline: c.var.deadline });
  const attemptId = newId(now);
  try {
    await core.batch(replayedAttempt(core, { ...order, attemptId }, original, payer, now));
  } catch (error) {
    // The id is new: what stands under it is this very row, whose answer was lost.
    if (!violates(error, "x402_payment_attempt.id")) throw error;
  }
  return attemptId;
}

/** @throws ApiError for an answer that is no outcome */
export function throwRefusal(
  answer: SettleAnswer,
): asserts answer is Exclude<SettleAnswer, { kind: "conflict" | "refused" }> {
  if (answer.kind === "conflict")
    throw new ApiError(
      409,
      `paymentPayload: its authorization or identifier belongs to the attempt ${answer.attemptId}`,
    );
  if (answer.kind === "refused")
    throw new ApiError(
      answer.status,
      answer.message,
      answer.status >= 503 ? { retryAfter: RETRY_AFTER_SECONDS } : {},
    );
}
