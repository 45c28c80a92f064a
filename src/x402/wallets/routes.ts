import * as z from "zod";
import { type Router, serve } from "../../http/endpoint.ts";
import { described } from "../../http/openapi/fields.ts";
import {
  limitParameter,
  pageParameters,
  pageParametersWithTake,
} from "../../http/openapi/parameters.ts";
import { OWNER_RULES } from "../model/endpoint-rules.ts";
import { caip2Filter, countRecord, walletRecord } from "../model/schemas.ts";
import { deleteWallet, updateWallet } from "./change-wallet.ts";
import { countWallets, createX402Wallet, listWallets } from "./create-wallet.ts";
import { listBalances } from "./list-balances.ts";
import {
  createdWallet,
  createWalletBody,
  walletBalances,
  walletFilters,
  walletId,
  walletIdFilter,
  walletNote,
} from "./schemas.ts";

/** `/x402/wallets`. */
export function registerWalletRoutes(router: Router): void {
  serve(
    router,
    {
      ...OWNER_RULES,
      method: "get",
      operationId: "listX402Wallets",
      isConditional: true,
      path: "/x402/wallets",
      summary: "Lists managed EVM wallets, newest first",
      description: "A key that is no Admin sees the wallets that it created.",
      query: z.object({ ...pageParametersWithTake, ...walletFilters, id: walletIdFilter }),
      data: z.object({ Wallets: described(z.array(walletRecord), "The wallets.") }),
    },
    async (c, { query: { take, ...query } }) => ({
      Wallets: await listWallets(c, { ...query, limit: take ?? query.limit }),
    }),
  );

  serve(
    router,
    {
      ...OWNER_RULES,
      method: "get",
      operationId: "listX402WalletBalances",
      path: "/x402/wallets/balances",
      summary: "Lists the balances of managed EVM wallets, newest wallet first",
      description:
        "Lists the wallets of `GET /x402/wallets`. Each balance is at most 30 seconds old. If an RPC node fails, only its wallets have an `error`.",
      query: z.object({
        ...pageParameters,
        limit: limitParameter(20),
        caip2Network: caip2Filter,
        id: walletIdFilter,
      }),
      data: z.object({ Balances: described(z.array(walletBalances), "Balances of each wallet.") }),
    },
    async (c, { query }) => ({ Balances: await listBalances(c, query, Date.now()) }),
  );

  serve(
    router,
    {
      ...OWNER_RULES,
      method: "post",
      operationId: "createX402Wallet",
      path: "/x402/wallets",
      summary: "Creates or imports a managed EVM wallet",
      description: "Only this response contains the key of a new wallet.",
      body: createWalletBody,
      idempotent: true,
      data: createdWallet,
      errors: {
        404: "There is no such network.",
        409: "The wallet already exists.",
      },
    },
    (c, { body }) => createX402Wallet(c, body, Date.now()),
  );

  serve(
    router,
    {
      ...OWNER_RULES,
      method: "patch",
      operationId: "updateX402Wallet",
      path: "/x402/wallets",
      summary: "Changes the note of a managed EVM wallet",
      body: z.object({ id: walletId, note: walletNote.optional() }),
      data: walletRecord,
      errors: { 404: "There is no such wallet." },
    },
    (c, { body }) => updateWallet(c, body, Date.now()),
  );

  serve(
    router,
    {
      ...OWNER_RULES,
      method: "delete",
      operationId: "deleteX402Wallet",
      path: "/x402/wallets",
      summary: "Removes a managed EVM wallet, and returns it as it was",
      description:
        "The wallet leaves its network, and its budgets and rules are turned off. The service keeps the encrypted key.",
      body: z.object({ id: walletId }),
      data: walletRecord,
      errors: {
        404: "There is no such wallet.",
        409: "The wallet has settlements that are not final yet.",
      },
    },
    (c, { body }) => deleteWallet(c, body.id, Date.now()),
  );

  serve(
    router,
    {
      ...OWNER_RULES,
      method: "get",
      operationId: "countX402Wallets",
      path: "/x402/wallets/count",
      summary: "Counts managed EVM wallets",
      description: "Counts the wallets of `GET /x402/wallets`.",
      query: z.object(walletFilters),
      data: countRecord,
    },
    async (c, { query }) => ({ total: await countWallets(c, query) }),
  );
}
