import { z } from "@hono/zod-openapi";
import { db } from "../db/client.ts";
import type { createRouter } from "../http/endpoint.ts";
import { serve } from "../http/endpoint.ts";
import { page, text, wholeNumber } from "../http/parameters.ts";
import { listAttempts, listSettlements } from "./attempt-list.ts";
import { recordVerification } from "./attempts.ts";
import { createPaymentSource, listPaymentSources } from "./payment-sources.ts";
import {
  attemptRecord,
  caip2,
  caip2Filter,
  evmAddress,
  paymentPayload,
  paymentRequirements,
  settleResponse,
  timeoutSeconds,
  tokenAddress,
  tokenAmount,
} from "./schemas.ts";
import { settleForSource, sourceOrder } from "./settle.ts";
import { ATTEMPT_DIRECTIONS, ATTEMPT_STATUSES } from "./tables.ts";
import { verifyOrder } from "./verify-order.ts";

/** A settlement waits up to 25 s for its block. */
const SETTLE_DEADLINE_MS = 30_000;

const settleBody = z.object({ supportedPaymentSourceId: text(), paymentPayload });

const sourceBody = z.object({
  url: text(500).refine(
    (value) => URL.canParse(value) && /^https?:$/.test(new URL(value).protocol),
    "must be an http or https URL",
  ),
  description: text(500).nullable().default(null),
  caip2Network: caip2,
  asset: tokenAddress.optional().openapi({ description: "Default: that of the network." }),
  amount: tokenAmount(),
  payTo: evmAddress,
  maxTimeoutSeconds: timeoutSeconds.default(300),
  extra: z
    .object({ name: text().optional(), version: text().optional() })
    .optional()
    .openapi({ description: "EIP-712 domain of the token, when the token does not tell it." }),
  registryRequestId: text().nullable().default(null),
});

const sourceRecord = z
  .object({
    id: z.string(),
    supportedPaymentSourceId: z.string(),
    url: z.string(),
    description: z.string().nullable(),
    registryRequestId: z.string().nullable(),
    requirements: paymentRequirements,
    createdById: z.string(),
    createdAt: z.string(),
  })
  .openapi("X402PaymentSource");

const ERRORS = {
  404: "There is no such payment source, or its network cannot settle.",
  502: "The RPC node failed.",
  504: "The RPC node did not answer in time.",
};

/** Settling, verifying, what came of it, and the resources that are paid for. */
export function paymentRoutes(router: ReturnType<typeof createRouter>): void {
  serve(
    router,
    {
      method: "post",
      path: "/x402/settle",
      access: "+PAY",
      tag: "x402",
      summary: "Settles a buyer's payment on the chain for a registered resource",
      description:
        "Idempotent per payment payload: the same payload again answers with the first settlement and `replay: true`. " +
        "A transaction that no block has taken in time answers `settlement_pending` with its hash and Retry-After.",
      body: settleBody,
      data: z.object({
        attemptId: z.string(),
        paymentPayloadHash: z.string(),
        paymentIdentifier: z.string().nullable(),
        replay: z.boolean(),
        settleResponse,
      }),
      errors: {
        ...ERRORS,
        402: "The API key has no usage credits left.",
        409: "The authorization belongs to another attempt, which is named.",
      },
      deadlineMs: SETTLE_DEADLINE_MS,
    },
    (c, { body }) => settleForSource(c, body, Date.now()),
  );

  serve(
    router,
    {
      method: "post",
      path: "/x402/verify",
      access: "+PAY",
      tag: "x402",
      summary: "Tells whether a buyer's payment would settle",
      body: settleBody,
      data: z.object({
        attemptId: z.string(),
        paymentPayloadHash: z.string(),
        isValid: z.boolean(),
        payer: z.string().nullable(),
        invalidReason: z.string().nullable(),
        invalidMessage: z.string().nullable(),
      }),
      errors: ERRORS,
    },
    async (c, { body }) => {
      const now = Date.now();
      const order = await sourceOrder(c, body, now);
      const { isValid, payer, invalidReason, invalidMessage } = await verifyOrder(c, order, now);
      const core = db(c.env, undefined, { writes: "idempotent", deadline: c.var.deadline });
      const found = { payer, errorReason: invalidReason, errorMessage: invalidMessage };
      await recordVerification(core, order, found, now);
      const { attemptId, payloadHash: paymentPayloadHash } = order;
      return { attemptId, paymentPayloadHash, isValid, payer, invalidReason, invalidMessage };
    },
  );

  serve(
    router,
    {
      method: "get",
      path: "/x402/payments",
      access: "+PAY",
      tag: "x402",
      summary: "Lists x402 payment attempts with their settlement, newest first",
      description: "A key that is no Admin sees its own.",
      query: z.object({
        take: wholeNumber({ min: 1, max: 100, default: 20 }),
        cursorId: text(550).optional(),
        status: z.enum(ATTEMPT_STATUSES).optional(),
        direction: z.enum(ATTEMPT_DIRECTIONS).optional(),
        caip2Network: caip2Filter.optional(),
        paymentPayloadHash: text(64).optional(),
      }),
      data: z.object({ PaymentAttempts: z.array(attemptRecord) }),
    },
    async (c, { query }) => ({ PaymentAttempts: await listAttempts(c, query) }),
  );

  serve(
    router,
    {
      method: "get",
      path: "/x402/settlements",
      access: "+PAY",
      tag: "x402",
      summary: "Lists settlements, newest first",
      description: "A key that is no Admin sees those of its own attempts.",
      query: z.object(page),
      data: z.object({
        Settlements: z.array(
          z.object({
            id: z.string(),
            attemptId: z.string(),
            success: z.boolean(),
            txHash: z.string(),
            amount: z.string(),
            payer: z.string(),
            caip2Network: z.string(),
            paymentPayloadHash: z.string(),
            createdAt: z.string(),
          }),
        ),
      }),
    },
    async (c, { query }) => ({ Settlements: await listSettlements(c, query) }),
  );

  serve(
    router,
    {
      method: "post",
      path: "/x402/payment-sources",
      access: "+PAY",
      tag: "x402",
      summary: "Registers a resource that is paid for",
      description: "`requirements` is what a buyer must accept.",
      body: sourceBody,
      idempotent: true,
      data: sourceRecord,
      errors: {
        404: "There is no such enabled network.",
        422: "The Idempotency-Key was used for another request.",
        502: ERRORS[502],
        504: ERRORS[504],
      },
    },
    (c, { body }) => createPaymentSource(c, body, Date.now()),
  );

  serve(
    router,
    {
      method: "get",
      path: "/x402/payment-sources",
      access: "+PAY",
      tag: "x402",
      summary: "Lists registered resources, newest first",
      description: "A key that is no Admin sees its own.",
      query: z.object(page),
      data: z.object({ PaymentSources: z.array(sourceRecord) }),
    },
    async (c, { query }) => ({ PaymentSources: await listPaymentSources(c, query) }),
  );
}
