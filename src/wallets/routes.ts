import * as z from "zod";
import { openDb } from "../db/client.ts";
import { createRouter, serve } from "../http/endpoint.ts";
import { described, PROVIDER_FAILURES } from "../http/openapi/fields.ts";
import { createWallet, type OnWalletAdded } from "./create-wallet.ts";
import { walletDetailsResponse, walletQuery, walletResponse } from "./details/response-schemas.ts";
import { listTransactions } from "./list-transactions.ts";
import { changeWallet, getWallet, listWallets } from "./manage-wallets.ts";
import {
  changeWalletBody,
  createdWallet,
  createWalletBody,
  transactionQuery,
  transactionRecord,
  walletListQuery,
  walletRecord,
} from "./managed/schemas.ts";
import { lowBalanceRules } from "./rules/low-balance.ts";
import {
  lowBalanceChangeBody,
  lowBalanceEventData,
  lowBalanceRecord,
  newLowBalanceBody,
  ruleListQuery,
} from "./rules/schemas.ts";
import type { FeatureQueue } from "./spending/feature-queue.ts";

const UNKNOWN_WALLET = "There is no such wallet.";
const UNKNOWN_RULE = "There is no such rule.";
const ADMIN_OPTIONS = { access: "Admin", scope: "admin", tag: "Wallets" } as const;

/** `/wallet`, as the document has it. */
export const WALLET_ENDPOINTS = {
  get: {
    ...ADMIN_OPTIONS,
    method: "get",
    operationId: "getWallet",
    path: "/wallet",
    summary: "Shows a wallet with its balance, tasks and missing funds",
    query: walletQuery,
    data: walletDetailsResponse,
    errors: { 404: UNKNOWN_WALLET },
  },
  update: {
    ...ADMIN_OPTIONS,
    method: "patch",
    operationId: "updateWallet",
    path: "/wallet",
    summary: "Changes the `drives`, the `collectionAddress` or the note of a wallet",
    description: "Omitted fields keep their values.",
    body: changeWalletBody,
    data: walletRecord,
    errors: { 404: UNKNOWN_WALLET },
  },
} as const;

/** `/wallet/low-balance`, as the document has it. */
export const LOW_BALANCE_ENDPOINTS = {
  list: {
    ...ADMIN_OPTIONS,
    method: "get",
    operationId: "listLowBalanceRules",
    isConditional: true,
    path: "/wallet/low-balance",
    summary: "Lists the rules that watch wallet balances, newest first",
    query: ruleListQuery,
    data: z.object({ Rules: described(z.array(lowBalanceRecord), "The rules.") }),
  },
  create: {
    ...ADMIN_OPTIONS,
    method: "post",
    operationId: "createLowBalanceRule",
    path: "/wallet/low-balance",
    summary: "Creates a rule: a WALLET_LOW_BALANCE event each time a balance falls below it",
    body: newLowBalanceBody,
    idempotent: true,
    data: lowBalanceRecord,
    errors: {
      404: UNKNOWN_WALLET,
      409: "The wallet already has a rule for the unit.",
    },
  },
  change: {
    ...ADMIN_OPTIONS,
    method: "patch",
    operationId: "updateLowBalanceRule",
    path: "/wallet/low-balance",
    summary: "Changes a rule",
    description: "Omitted fields stay as they are. The next check evaluates the balance again.",
    body: lowBalanceChangeBody,
    data: lowBalanceRecord,
    errors: { 404: UNKNOWN_RULE },
  },
  delete: {
    ...ADMIN_OPTIONS,
    method: "delete",
    operationId: "deleteLowBalanceRule",
    path: "/wallet/low-balance",
    summary: "Deletes a rule",
    body: lowBalanceChangeBody.pick({ id: true }),
    data: lowBalanceRecord,
    errors: { 404: UNKNOWN_RULE },
  },
} as const;

/**
 * `/wallet`: the wallets of the payment sources, and their low-balance rules.
 *
 * @param features - the features that have tasks for wallets
 * @param wentOn - resumes the records of a wallet that is added again
 */
export function createWalletRoutes(features: readonly FeatureQueue[], wentOn: OnWalletAdded) {
  const router = createRouter();
  router.events.push({
    kind: "WALLET_LOW_BALANCE",
    summary: "The balance of a wallet fell below its threshold",
    data: lowBalanceEventData,
  });

  serve(
    router,
    {
      method: "get",
      operationId: "listWallets",
      isConditional: true,
      path: "/wallet/list",
      access: "+PAY",
      scope: "wallets",
      names: { walletVkey: "filter", walletAddress: "filter" },
      tag: "Wallets",
      summary:
        "Lists the wallets that the key may use, with their balances and tasks, newest first",
      query: walletListQuery,
      data: z.object({ Wallets: described(z.array(walletResponse), "The wallets.") }),
    },
    async (c, { query }) => ({
      Wallets: await listWallets(c, query, features),
    }),
  );

  serve(router, WALLET_ENDPOINTS.get, (c, { query }) => getWallet(c, query, features, Date.now()));

  serve(
    router,
    {
      method: "post",
      operationId: "createWallet",
      path: "/wallet",
      ...ADMIN_OPTIONS,
      summary: "Creates a wallet, or adds a wallet to a payment source",
      description:
        "Without `paymentSourceId`, the service returns a new wallet and stores nothing. Otherwise, the service manages the wallet, new or from the sent mnemonic: it encrypts the mnemonic and syncs the wallet's history.",
      body: createWalletBody,
      idempotent: true,
      data: createdWallet,
      errors: {
        404: "There is no such payment source.",
        409: "A payment source already manages the wallet.",
        ...PROVIDER_FAILURES,
      },
    },
    (c, { body }) => createWallet(c, body, wentOn, Date.now()),
  );

  serve(router, WALLET_ENDPOINTS.update, (c, { body }) => changeWallet(c, body, Date.now()));

  serve(
    router,
    {
      method: "get",
      operationId: "listWalletTransactions",
      isConditional: true,
      path: "/wallet/transaction",
      ...ADMIN_OPTIONS,
      summary: "Lists the transactions of the wallets, newest first",
      query: transactionQuery,
      data: z.object({
        Transactions: described(z.array(transactionRecord), "The transactions."),
      }),
    },
    async (c, { query }) => ({
      Transactions: await listTransactions(
        openDb(c.env, query.network, { deadline: c.var.deadline }),
        query,
      ),
    }),
  );

  serve(router, LOW_BALANCE_ENDPOINTS.list, async (c, { query }) => ({
    Rules: await lowBalanceRules.list(c, query),
  }));

  serve(router, LOW_BALANCE_ENDPOINTS.create, (c, { body }) =>
    lowBalanceRules.create(c, body, Date.now()),
  );

  serve(router, LOW_BALANCE_ENDPOINTS.change, (c, { body }) =>
    lowBalanceRules.change(c, body, Date.now()),
  );

  serve(router, LOW_BALANCE_ENDPOINTS.delete, (c, { body }) =>
    lowBalanceRules.delete(c, body.id, Date.now()),
  );

  return router;
}
