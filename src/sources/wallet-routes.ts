import { z } from "@hono/zod-openapi";
import { db } from "../db/client.ts";
import { createRouter, serve } from "../http/endpoint.ts";
import { changeRule, createRule, deleteRule, listRules } from "./low-balance-rules.ts";
import { changeWallet, freshWallet, listWallets } from "./managed-wallets.ts";
import { deleteBody } from "./schemas.ts";
import {
  changeBody,
  freshWallet as freshWalletRecord,
  listQuery,
  newRuleBody,
  newWalletBody,
  ruleChangeBody,
  ruleListQuery,
  ruleRecord,
  walletRecord,
  walletWithBalance,
} from "./wallet-schemas.ts";

const UNKNOWN_WALLET = "There is no such wallet.";
const UNKNOWN_RULE = "There is no such rule.";

/** `/wallet`: the wallets of the payment sources, and the rules that watch their balances. */
export function walletRoutes() {
  const router = createRouter();

  serve(
    router,
    {
      method: "get",
      path: "/wallet/list",
      access: "Admin",
      tag: "Wallets",
      summary: "Lists the wallets of the payment sources with their balances, newest first",
      query: listQuery,
      data: z.object({ Wallets: z.array(walletWithBalance) }),
    },
    async (c, { query }) => ({ Wallets: await listWallets(c.env, query, c.var.deadline) }),
  );

  serve(
    router,
    {
      method: "post",
      path: "/wallet",
      access: "Admin",
      tag: "Wallets",
      summary: "Generates a fresh wallet, which is not stored",
      body: newWalletBody,
      data: freshWalletRecord,
    },
    (_, { body }) => freshWallet(body.network),
  );

  serve(
    router,
    {
      method: "patch",
      path: "/wallet",
      access: "Admin",
      tag: "Wallets",
      summary: "Changes where a wallet's refunds or revenue are sent, or its note",
      description: "What is left out is kept.",
      body: changeBody,
      data: walletRecord,
      errors: { 404: UNKNOWN_WALLET },
    },
    (c, { body }) => changeWallet(c, body, Date.now()),
  );

  serve(
    router,
    {
      method: "get",
      path: "/wallet/low-balance",
      access: "Admin",
      tag: "Wallets",
      summary: "Lists the rules that watch wallet balances, newest first",
      query: ruleListQuery,
      data: z.object({ Rules: z.array(ruleRecord) }),
    },
    async (c, { query }) => ({
      Rules: await listRules(db(c.env, undefined, { deadline: c.var.deadline }), query),
    }),
  );

  serve(
    router,
    {
      method: "post",
      path: "/wallet/low-balance",
      access: "Admin",
      tag: "Wallets",
      summary: "Creates a rule: a WALLET_LOW_BALANCE event each time a balance goes below it",
      body: newRuleBody,
      idempotent: true,
      data: ruleRecord,
      errors: {
        404: UNKNOWN_WALLET,
        409: "The wallet has a rule for the unit already.",
        422: "The Idempotency-Key was used for another request.",
      },
    },
    (c, { body }) => createRule(c, body, Date.now()),
  );

  serve(
    router,
    {
      method: "patch",
      path: "/wallet/low-balance",
      access: "Admin",
      tag: "Wallets",
      summary: "Changes a rule",
      description: "What is left out is kept. The next check judges the balance anew.",
      body: ruleChangeBody,
      data: ruleRecord,
      errors: { 404: UNKNOWN_RULE },
    },
    (c, { body }) => changeRule(c, body, Date.now()),
  );

  serve(
    router,
    {
      method: "delete",
      path: "/wallet/low-balance",
      access: "Admin",
      tag: "Wallets",
      summary: "Deletes a rule",
      body: deleteBody,
      data: ruleRecord,
      errors: { 404: UNKNOWN_RULE },
    },
    (c, { body }) => deleteRule(c, body.id, Date.now()),
  );

  return router;
}
