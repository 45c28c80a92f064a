import { z } from "@hono/zod-openapi";
import type { createRouter } from "../http/endpoint.ts";
import { serve } from "../http/endpoint.ts";
import { page, text } from "../http/parameters.ts";
import { listBalanceRules, saveBalanceRule } from "./low-balance.ts";
import { caip2, caip2Filter, evmAddress, tokenAmount, walletRecord } from "./schemas.ts";
import { createWallet, listWallets } from "./wallet-settings.ts";

const createBody = z.object({
  caip2Network: caip2,
  type: z.enum(["Purchasing", "Selling"]),
  note: text(250).nullable().default(null),
  privateKey: z
    .string()
    .regex(/^0x[0-9a-fA-F]{64}$/, "must be 32 bytes in hex")
    .optional()
    .openapi({ description: "Imports a wallet; without it a new one is made." }),
});

const nativeOrToken = z.union([z.literal("native"), evmAddress], {
  error: "must be native or a token's address",
});

const rule = z
  .object({
    id: z.string(),
    evmWalletId: z.string(),
    asset: z.string(),
    threshold: z.string(),
    state: z.enum(["Unknown", "Healthy", "Low"]),
    checkedAt: z.string().nullable(),
  })
  .openapi("X402BalanceRule");

/** `/x402/wallets` and the rules that watch over their balances. */
export function walletRoutes(router: ReturnType<typeof createRouter>): void {
  serve(
    router,
    {
      method: "get",
      path: "/x402/wallets",
      access: "+PAY",
      tag: "x402",
      summary: "Lists managed EVM wallets, newest first",
      description: "A key that is no Admin sees those that it created.",
      query: z.object({ ...page, caip2Network: caip2Filter.optional() }),
      data: z.object({ Wallets: z.array(walletRecord) }),
    },
    async (c, { query }) => ({ Wallets: await listWallets(c, query) }),
  );

  serve(
    router,
    {
      method: "post",
      path: "/x402/wallets",
      access: "+PAY",
      tag: "x402",
      summary: "Creates or imports a managed EVM wallet",
      description: "The key of a new wallet is shown here and never again.",
      body: createBody,
      idempotent: true,
      data: walletRecord.extend({ privateKey: z.string().nullable() }),
      errors: {
        404: "There is no such network.",
        409: "The wallet is there already.",
        422: "The Idempotency-Key was used for another request.",
      },
    },
    (c, { body }) => createWallet(c, body, Date.now()),
  );

  serve(
    router,
    {
      method: "get",
      path: "/x402/low-balance",
      access: "Admin",
      tag: "x402",
      summary: "Lists the rules that watch wallet balances, newest first",
      query: z.object(page),
      data: z.object({ Rules: z.array(rule) }),
    },
    async (c, { query }) => ({ Rules: await listBalanceRules(c, query) }),
  );

  serve(
    router,
    {
      method: "post",
      path: "/x402/low-balance",
      access: "Admin",
      tag: "x402",
      summary: "Creates or changes the rule for a wallet and an asset",
      description:
        "A balance that falls below the threshold causes one X402_WALLET_LOW_BALANCE event.",
      body: z.object({
        evmWalletId: text(),
        asset: nativeOrToken.default("native"),
        threshold: tokenAmount(),
      }),
      idempotent: true,
      data: rule,
      errors: {
        404: "There is no such wallet.",
        422: "The Idempotency-Key was used for another request.",
      },
    },
    (c, { body }) => saveBalanceRule(c, body, Date.now()),
  );
}
