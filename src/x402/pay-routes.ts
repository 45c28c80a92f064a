import { z } from "@hono/zod-openapi";
import type { createRouter } from "../http/endpoint.ts";
import { serve } from "../http/endpoint.ts";
import { page, text } from "../http/parameters.ts";
import { listBudgets, saveBudget } from "./budgets.ts";
import { pay } from "./pay.ts";
import { paymentIdentifier } from "./payment-identifier.ts";
import { caip2, evmAddress, paymentRequirements, tokenAmount } from "./schemas.ts";

const payBody = z.object({
  evmWalletId: text(),
  paymentRequired: z.object({
    x402Version: z.int().refine((version) => version === 2, "must be 2"),
    resource: z.looseObject({ url: text(2000) }),
    accepts: z.array(paymentRequirements).min(1).max(20),
    extensions: z.record(z.string(), z.unknown()).nullish(),
  }),
  preferredNetwork: caip2.optional(),
  preferredAsset: evmAddress.optional(),
  paymentIdentifier: paymentIdentifier.optional(),
});

const budget = z
  .object({
    id: z.string(),
    apiKeyId: z.string(),
    evmWalletId: z.string(),
    asset: z.string(),
    remainingAmount: z.string(),
    spentAmount: z.string(),
    isEnabled: z.boolean(),
    createdAt: z.string(),
    updatedAt: z.string(),
  })
  .openapi("X402Budget");

/** Paying for resources of others, and how much of it a key may do. */
export function payRoutes(router: ReturnType<typeof createRouter>): void {
  serve(
    router,
    {
      method: "post",
      path: "/x402/pay",
      access: "+PAY",
      tag: "x402",
      summary: "Signs a payment for what a resource asks, within the key's budget",
      description:
        "Needs an Idempotency-Key or a `paymentIdentifier`: the same request again gets the same signature. " +
        "Of `accepts` the first terms are taken that the wallet can sign for and a budget covers, whatever the wallet holds; its owner and Admins need no budget in a token, but are held to one that they have. " +
        "A payment of more than 16 KiB is refused: it would not fit a header. " +
        "`xPaymentHeader` goes into the header PAYMENT-SIGNATURE; the resource is not fetched here.",
      body: payBody,
      idempotent: true,
      data: z.object({
        attemptId: z.string(),
        payer: z.string(),
        caip2Network: z.string(),
        asset: z.string(),
        amount: z.string(),
        payTo: z.string(),
        xPaymentHeader: z.string(),
        paymentPayload: z.looseObject({}),
        paymentPayloadHash: z.string(),
        paymentIdentifier: z.string().nullable(),
      }),
      errors: {
        402: "The budget or the wallet does not cover the payment.",
        404: "There is no such wallet, or no budget for it.",
        409: "The paymentIdentifier was used for another payment.",
        422: "The Idempotency-Key was used for another request.",
      },
    },
    (c, { body }) => pay(c, body, Date.now()),
  );

  serve(
    router,
    {
      method: "get",
      path: "/x402/budgets",
      access: "Admin",
      tag: "x402",
      summary: "Lists budgets, newest first",
      query: z.object(page),
      data: z.object({ Budgets: z.array(budget) }),
    },
    async (c, { query }) => ({ Budgets: await listBudgets(c, query) }),
  );

  serve(
    router,
    {
      method: "post",
      path: "/x402/budgets",
      access: "Admin",
      tag: "x402",
      summary: "Sets what a key may still pay out of a wallet in a token",
      description: "`spentAmount` goes on counting.",
      body: z.object({
        apiKeyId: text(),
        evmWalletId: text(),
        asset: evmAddress,
        remainingAmount: tokenAmount(0n),
        isEnabled: z.boolean().default(true),
      }),
      idempotent: true,
      data: budget,
      errors: {
        404: "There is no such key or wallet.",
        422: "The Idempotency-Key was used for another request.",
      },
    },
    (c, { body }) => saveBudget(c, body, Date.now()),
  );
}
