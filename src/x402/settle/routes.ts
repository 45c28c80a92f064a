import * as z from "zod";
import { type Router, serve } from "../../http/endpoint.ts";
import { ApiError } from "../../http/errors.ts";
import { described } from "../../http/openapi/fields.ts";
import { pageParameters } from "../../http/openapi/parameters.ts";
import {
  ADMIN_RULES,
  NODE_ERRORS,
  OWNER_RULES,
  SETTLE_ERRORS,
  VERIFY_ERRORS,
} from "../model/endpoint-rules.ts";
import { attemptRecord, outcomeEventData } from "../model/schemas.ts";
import { NoSettlementNetworkError } from "../networks/settlement-network.ts";
import { verifyOrder } from "../verify/verify-order.ts";
import { createPaymentSource, listPaymentSources } from "./payment-sources.ts";
import { reconcileAttempt } from "./reconcile-attempt.ts";
import {
  newSource,
  reconcileBody,
  settleBody,
  settlePaymentResponse,
  sourceBody,
  sourceRecord,
  verifyBody,
  verifyPaymentResponse,
} from "./schemas.ts";
import { createSourceOrder, SETTLE_DEADLINE_MS, settleForSource } from "./settle-order.ts";

const SOURCE_ERRORS = { 404: "There is no such payment source, or its network cannot settle." };

export const RECONCILE_ERRORS = {
  ...NODE_ERRORS,
  404: "There is no such attempt.",
  409: "The attempt has an outcome, or the chain shows none, or another one than expected.",
};

/** Settling, verifying, their records, and the registered resources. */
export function registerPaymentRoutes(router: Router): void {
  router.events.push(
    { kind: "X402_PAYMENT_SETTLED", summary: "A payment was settled", data: outcomeEventData },
    { kind: "X402_PAYMENT_FAILED", summary: "A payment was not settled", data: outcomeEventData },
  );
  serve(
    router,
    {
      ...OWNER_RULES,
      method: "post",
      operationId: "settleX402Payment",
      mayAskToRetry: true,
      path: "/x402/settle",
      names: { amount: "terms", paymentPayload: "proved", paymentRequirements: "terms" },
      summary: "Settles a buyer's payment on the chain for a registered resource",
      description:
        "The endpoint is idempotent per payment payload. A repeated payload returns the first settlement and `replay: true`. " +
        "If no block includes the transaction in time, the answer is `settlement_pending` with the transaction hash and Retry-After.",
      body: settleBody,
      data: settlePaymentResponse,
      errors: { ...SETTLE_ERRORS, ...SOURCE_ERRORS },
      deadlineMs: SETTLE_DEADLINE_MS,
    },
    (c, { body }) => settleForSource(c, body, Date.now()),
  );

  serve(
    router,
    {
      ...OWNER_RULES,
      method: "post",
      operationId: "verifyX402Payment",
      path: "/x402/verify",
      names: { paymentPayload: "proved", paymentRequirements: "terms" },
      summary: "Verifies a buyer's payment without settling it",
      body: verifyBody,
      data: verifyPaymentResponse,
      errors: { ...VERIFY_ERRORS, ...SOURCE_ERRORS },
    },
    async (c, { body }) => {
      const now = Date.now();
      const order = await createSourceOrder(c, body, now);
      const verification = await verifyOrder(c, order, now).catch((error: unknown) => {
        throw error instanceof NoSettlementNetworkError ? new ApiError(404, error.message) : error;
      });
      const { attemptId, payloadHash: paymentPayloadHash, paymentIdentifier } = order;
      return { attemptId, paymentPayloadHash, paymentIdentifier, ...verification };
    },
  );

  serve(
    router,
    {
      ...ADMIN_RULES,
      method: "post",
      operationId: "reconcileX402Payment",
      path: "/x402/payments/reconcile",
      summary: "Asks the chain for the outcome of a settlement now, and records it",
      description:
        "The service does so by itself, too. The outcome is always that of the chain: `Settled` needs the agreed transfer by the payment's authorization, and `Failed` an authorization that is over, or was used otherwise.",
      body: reconcileBody,
      data: attemptRecord,
      errors: RECONCILE_ERRORS,
      deadlineMs: SETTLE_DEADLINE_MS,
    },
    (c, { body }) => reconcileAttempt(c, body, Date.now()),
  );

  serve(
    router,
    {
      ...OWNER_RULES,
      method: "post",
      operationId: "createX402PaymentSource",
      path: "/x402/payment-sources",
      names: { amount: "terms", payTo: "terms" },
      summary: "Registers a paid resource",
      description:
        "`requirements` is what a buyer must accept. `Warnings` says when the token's " +
        "EIP-712 domain is not the one of `extra`: payments by EIP-3009 would fail.",
      body: sourceBody,
      idempotent: true,
      data: newSource,
      errors: { ...NODE_ERRORS, 404: "There is no such enabled network." },
    },
    (c, { body }) => createPaymentSource(c, body, Date.now()),
  );

  serve(
    router,
    {
      ...OWNER_RULES,
      method: "get",
      operationId: "listX402PaymentSources",
      isConditional: true,
      path: "/x402/payment-sources",
      summary: "Lists registered resources, newest first",
      description: "A key that is no Admin sees the resources that it registered.",
      query: z.object(pageParameters),
      data: z.object({ PaymentSources: described(z.array(sourceRecord), "The resources.") }),
    },
    async (c, { query }) => ({ PaymentSources: await listPaymentSources(c, query) }),
  );
}
