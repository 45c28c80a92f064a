import { db, violates } from "../../db/client.ts";
import { newId } from "../../db/id.ts";
import { wakeDispatcher } from "../../events/outbox.ts";
import type { AppContext } from "../../http/context.ts";
import { ApiError } from "../../http/errors.ts";
import { log } from "../../log.ts";
import { recordRefused, replayedAttempt } from "../attempts/attempts.ts";
import { payloadHash } from "../attempts/payload-hash.ts";
import { paymentIdentifierOf, refuseReusedIdentifier } from "../attempts/payment-identifier.ts";
import { authorizationKey, InvalidPayload, readAuthorization } from "../evm/authorization.ts";
import { requireSettleCredit } from "../require-credit.ts";
import { paymentObject, type SettleAnswer, type SettleOrder } from "../rpc-types.ts";
import type { PaymentPayload, PaymentRequirements } from "../schemas.ts";
import { answerOf } from "./payment-answer.ts";
import { type PaymentSourceRow, requirementsOf, requirePaymentSource } from "./payment-sources.ts";

/** Longest wait of a caller for a block; the settlement continues after it. */
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

/** The order for a payment of a registered resource, whose terms the payer must have accepted. */
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
 * An order for the objects. `claim` is empty for a payload without an authorization.
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
    return authorizationKey(network, asset, readAuthorization(payload.payload));
  } catch (error) {
    if (error instanceof InvalidPayload) return "";
    throw error;
  }
}

/** Has the payment settled by the object of its authorization. @throws ApiError 402 */
export async function settleOrder(
  c: AppContext,
  order: SettleOrder,
  now: number,
): Promise<SettleAnswer> {
  if (order.claim === "") return refuseWithoutAuthorization(c, order, now);
  await requireSettleCredit(c, order);
  const deadline = Date.now() + order.waitMs;
  let { attemptId } = order;
  for (;;) {
    const waitMs = deadline - Date.now();
    try {
      return await paymentObject(c.env, order.claim).settle({ ...order, attemptId, waitMs });
    } catch (error) {
      // The object may have migrated after it had begun: a retry joins what it finds.
      const { requestId } = order;
      log("warn", "x402.object_failed", { requestId, error: String(error) });
      if (Date.now() + OBJECT_PAUSE_MS >= deadline) return unknownAnswer(order);
      await scheduler.wait(OBJECT_PAUSE_MS);
      // What was begun under the first id may have failed since, and is not restarted.
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
  return answerOf({ order, outcome }, { replay: false, first: true });
}

/** It is unknown whether anything was sent, so failure is not claimed. */
function unknownAnswer(order: SettleOrder): SettleAnswer {
  return {
    kind: "pending",
    attemptId: order.attemptId,
    replay: false,
    transaction: "",
    payer: null,
    network: order.requirements.network,
    amount: order.requirements.amount,
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
  sayWhenToRetry(c, answer);
  const replayed = await recordReplay(c, order, answer, now);
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

/** An answer that gives the state of a payment. */
export type StandingAnswer = Exclude<SettleAnswer, { kind: "conflict" | "refused" }>;

/** Tells a caller when to retry for what is not decided yet. */
export function sayWhenToRetry(c: AppContext, { kind }: StandingAnswer): void {
  if (kind === "pending") c.header("retry-after", String(RETRY_AFTER_SECONDS));
}

/**
 * Writes the attempt for a repeat of a settled payment. It has its own id: under the order's id
 * another request may have settled the payment, if the object went down in between.
 *
 * @returns the attempt's id; null when the answer is not to a repeat of a settled payment
 */
export async function recordReplay(
  c: AppContext,
  order: SettleOrder,
  { kind, replay, attemptId: original, payer }: StandingAnswer,
  now: number,
): Promise<string | null> {
  if (kind !== "settled" || !replay) return null;
  const core = db(c.env, undefined, { writes: "idempotent", deadline: c.var.deadline });
  const attemptId = newId(now);
  try {
    await core.batch(replayedAttempt(core, { ...order, attemptId }, original, payer, now));
  } catch (error) {
    // The id was made here and is not shared: an existing row with it is this one, sent twice.
    if (!violates(error, "x402_payment_attempt.id")) throw error;
  }
  return attemptId;
}

/** @throws ApiError for an answer that is not an outcome */
export function throwRefusal(answer: SettleAnswer): asserts answer is StandingAnswer {
  if (answer.kind === "conflict")
    throw new ApiError(
      "identifier_reused",
      `paymentPayload: its authorization or identifier belongs to the attempt ${answer.attemptId}`,
    );
  if (answer.kind === "refused")
    throw new ApiError(
      answer.status,
      answer.message,
      answer.status >= 503 ? { retryAfter: RETRY_AFTER_SECONDS } : {},
    );
}
