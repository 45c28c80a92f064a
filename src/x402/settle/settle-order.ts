import { isOutOfCredits, requireCredits } from "../../api-keys/credits.ts";
import { openDb } from "../../db/client.ts";
import { newId } from "../../db/id.ts";
import { replacePrimaryBookmark } from "../../db/primary-bookmark.ts";
import { wakeDispatcher } from "../../events/outbox.ts";
import type { AppContext } from "../../http/context.ts";
import { ApiError } from "../../http/errors.ts";
import { log } from "../../log.ts";
import { findPastAttempt, toStoredResource } from "../attempts/attempt-row.ts";
import { hashPayload, readPaymentIdentifier } from "../attempts/payment-identity.ts";
import { recordRefusal } from "../attempts/record-attempts.ts";
import {
  InvalidPayloadError,
  readAuthorization,
  toAuthorizationKey,
} from "../evm/authorization.ts";
import { getPaymentStub, type SettleOrder, type SettleReply } from "../model/messages.ts";
import type { PaymentPayload, PaymentRequirements } from "../model/schemas.ts";
import type { ReadPayment } from "./facilitator-body.ts";
import { toOutcomeReply, toPendingReply } from "./payment-reply.ts";
import { type PaymentSourceRow, requirePaymentSource, toRequirements } from "./payment-sources.ts";
import { recordReply } from "./record-reply.ts";
import type { SettlePaymentResponse, SourcePayment } from "./schemas.ts";

/** The settlement continues after the caller's wait. */
const MAX_WAIT_MS = 25_000;
/** Of a request that settles: more than the wait for the block. */
export const SETTLE_DEADLINE_MS = 30_000;
const OBJECT_RETRY_DELAY_MS = 100;
const UNKNOWN_STATUS = { transaction: "", message: "The outcome is not known yet." };

/**
 * Settles a payment for a registered resource, once.
 *
 * @param now - epoch milliseconds
 * @throws ApiError 400, 402, 403, 404, 409, 502, 503, 504; never a 5xx once anything was sent
 */
export async function settleForSource(
  c: AppContext,
  body: SourcePayment,
  now: number,
): Promise<SettlePaymentResponse> {
  const order = await createSourceOrder(c, body, now);
  const reply = await settleOrder(c, order, now);
  const { payment, attemptId } = await recordReply(c, order, reply, now);
  const { kind, replay, transaction, payer, network, amount, errorReason, errorMessage } = payment;
  return {
    attemptId,
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

/** The order for a payment of a registered resource, whose terms the payer must have accepted. */
export async function createSourceOrder(
  c: AppContext,
  body: SourcePayment,
  now: number,
): Promise<SettleOrder> {
  const source = await requirePaymentSource(c, body.supportedPaymentSourceId);
  const { paymentPayload: payload, amount: charge } = body;
  const requirements = toRequirements(source, body.paymentRequirements);
  requireAcceptedRequirements(requirements, source.url, payload);
  if (source.scheme === "exact" && charge !== undefined)
    throw new ApiError(400, "amount: is only for a resource of the scheme upto");
  const { amount: maxAmount } = requirements;
  const terms =
    source.scheme === "upto"
      ? { requirements: { ...requirements, amount: charge ?? maxAmount }, maxAmount }
      : { requirements };
  return createOrder(c, { payload, ...terms, hashed: payload }, source, now);
}

/** @throws ApiError 400 naming the first field that differs */
function requireAcceptedRequirements(
  { scheme, network, asset, amount, payTo, maxTimeoutSeconds }: PaymentRequirements,
  url: string | null,
  { accepted, resource, x402Version }: PaymentPayload,
): void {
  const refuse = (field: string, expected: string | number) => {
    throw new ApiError(400, `paymentPayload.${field}: must be ${expected}`);
  };
  if (x402Version !== 2) refuse("x402Version", 2);
  if (url !== null && resource?.url !== url) refuse("resource.url", url);
  if (accepted.scheme !== scheme) refuse("accepted.scheme", scheme);
  if (accepted.network !== network) refuse("accepted.network", network);
  if (accepted.asset.toLowerCase() !== asset) refuse("accepted.asset", asset);
  if (accepted.amount !== amount) refuse("accepted.amount", amount);
  if (accepted.payTo.toLowerCase() !== payTo) refuse("accepted.payTo", payTo);
  if (accepted.maxTimeoutSeconds !== maxTimeoutSeconds)
    refuse("accepted.maxTimeoutSeconds", maxTimeoutSeconds);
}

/**
 * An order for the objects. `claim` is empty for a payload without an authorization.
 *
 * @param source - null: the resource server brings requirements
 */
export async function createOrder(
  c: AppContext,
  { payload, requirements, maxAmount, hashed }: ReadPayment,
  source: PaymentSourceRow | null,
  now: number,
): Promise<SettleOrder> {
  const url = source ? source.url : payload.resource?.url;
  return {
    v: 1,
    requestId: c.var.requestId,
    attemptId: newId(now),
    caller: c.var.caller,
    paymentSourceId: source?.id ?? null,
    registryRequestId: source?.registryRequestId ?? null,
    resource: url ? toStoredResource(url) : null,
    payload,
    payloadHash: await hashPayload(hashed),
    claim: toClaim(payload, requirements),
    paymentIdentifier: readPaymentIdentifier(payload),
    requirements,
    ...(maxAmount !== undefined && { maxAmount }),
    waitMs: Math.min(requirements.maxTimeoutSeconds * 1000, MAX_WAIT_MS),
  };
}

function toClaim(payload: PaymentPayload, requirements: PaymentRequirements): string {
  const { scheme, network, asset } = requirements;
  try {
    return toAuthorizationKey(network, asset, readAuthorization(payload.payload, scheme));
  } catch (error) {
    if (error instanceof InvalidPayloadError) return "";
    throw error;
  }
}

/** Settles the payment through the object of its authorization. @throws ApiError 402 */
export async function settleOrder(
  c: AppContext,
  order: SettleOrder,
  now: number,
): Promise<SettleReply> {
  if (order.claim === "") return refuseWithoutAuthorization(c, order, now);
  await requireSettleCredit(c, order);
  const deadline = Date.now() + order.waitMs;
  let { attemptId } = order;
  for (;;) {
    const waitMs = deadline - Date.now();
    try {
      const payment = getPaymentStub(c.env, order.claim);
      const { response, bookmark } = await payment.settle({ ...order, attemptId, waitMs });
      replacePrimaryBookmark(bookmark);
      return response;
    } catch (error) {
      // The object may have migrated during the call: a retry joins the stored payment.
      const { requestId } = order;
      log("warn", "x402.object_failed", { requestId, error: String(error) });
      // No failure: the object may have sent a transaction.
      if (Date.now() + OBJECT_RETRY_DELAY_MS >= deadline)
        return toPendingReply({ order, payer: null }, false, UNKNOWN_STATUS);
      await scheduler.wait(OBJECT_RETRY_DELAY_MS);
      // The attempt with the first id may have failed since, and must not restart.
      attemptId = newId(Date.now());
    }
  }
}

async function refuseWithoutAuthorization(
  c: AppContext,
  order: SettleOrder,
  now: number,
): Promise<SettleReply> {
  let invalid = new InvalidPayloadError("payload: needs an authorization");
  try {
    readAuthorization(order.payload.payload, order.requirements.scheme);
  } catch (error) {
    if (!(error instanceof InvalidPayloadError)) throw error;
    invalid = error;
  }
  const outcome = {
    success: false,
    transaction: "",
    payer: null,
    errorReason: invalid.reason,
    errorMessage: invalid.message,
  };
  const core = openDb(c.env, undefined, { writes: "idempotent", deadline: c.var.deadline });
  await recordRefusal(core, order, outcome, now);
  await wakeDispatcher(c.env, order.requestId);
  return toOutcomeReply({ order, outcome }, { replay: false, first: true });
}

/**
 * Checks that the caller can pay for a settlement before any node is called. A payment that an
 * attempt holds is already charged: sending it again, or joining it, is free.
 *
 * @throws ApiError 402
 */
async function requireSettleCredit(c: AppContext, order: SettleOrder): Promise<void> {
  const core = openDb(c.env, undefined, { deadline: c.var.deadline });
  try {
    await requireCredits(core, order.caller, "x402-settle");
  } catch (error) {
    if (!isOutOfCredits(error) || !(await findPastAttempt(c.env, core, order))) throw error;
  }
}
