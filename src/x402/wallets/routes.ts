import * as z from "zod";
import { type Router, serve } from "../../http/endpoint.ts";
import { described, idField, named, textField, timestampField } from "../../http/openapi/fields.ts";
import {
  limitParameter,
  pageParameters,
  pageParametersWithTake,
  textParameter,
} from "../../http/openapi/parameters.ts";
import {
  addressResponse,
  caip2,
  caip2Filter,
  countRecord,
  EXAMPLE_PAYER,
  EXAMPLE_WALLET_ID,
  evmWalletType,
  nullableText,
  walletFields,
  walletRecord,
} from "../model/schemas.ts";
import { deleteWallet, updateWallet } from "./change-wallet.ts";
import { countWallets, createWallet, listWallets } from "./create-wallet.ts";
import { listBalances } from "./list-balances.ts";

const EXAMPLE_PRIVATE_KEY = `0x${"4f7a".repeat(16)}`;

export const createWalletBody = z.object({
  caip2Network: caip2,
  type: evmWalletType,
  note: described(textParameter(250).nullable().default(null), "Note about the wallet.", "Buyer"),
  privateKey: described(
    z
      .string()
      .regex(/^0x[0-9a-fA-F]{64}$/, "must be 32 bytes in hex")
      .meta({ format: "secp256k1-key" })
      .optional(),
    "Key of the wallet to import. Without a key, the service creates a new wallet.",
    EXAMPLE_PRIVATE_KEY,
  ),
});

export const createdWallet = named(
  "CreatedX402Wallet",
  "A new managed EVM wallet.",
  z.object({
    ...walletFields,
    privateKey: nullableText(
      "Key of a new wallet. Only this response contains the key. Null: the wallet was imported.",
      EXAMPLE_PRIVATE_KEY,
    ),
  }),
);

const assetText = "`native`, or the address of the token.";

const walletBalances = named(
  "X402WalletBalances",
  "Balances of a managed EVM wallet.",
  z.object({
    evmWalletId: idField("the wallet", EXAMPLE_WALLET_ID),
    caip2Network: caip2,
    address: addressResponse("Address of the wallet.", EXAMPLE_PAYER),
    readAt: described(
      timestampField("").nullable(),
      "Time of the reading, at most 30 seconds ago. Null: the reading failed.",
      "2026-11-22T06:17:26.922Z",
    ),
    error: nullableText(
      "Reason of the failed reading. Null: no failure.",
      "The network's RPC node did not answer",
    ),
    Assets: described(
      z.array(
        named(
          "X402AssetBalance",
          "Balance of one asset.",
          z.object({
            asset: textField(assetText, "native"),
            decimals: described(
              z.int().min(0).max(255).nullable(),
              "Decimals of the asset. Null: the token reports none.",
              18,
            ),
            amount: nullableText(
              "Balance in minor units. Null: the token reports none.",
              "49000000",
            ),
          }),
        ),
      ),
      "The native coin, the network's default asset and the assets of the wallet's rules; at most eight tokens.",
    ),
  }),
);

const walletIdFilter = described(
  textParameter().optional(),
  "Only the wallet with this id.",
  EXAMPLE_WALLET_ID,
);

const walletFilters = {
  caip2Network: caip2Filter,
  networkId: described(
    textParameter().optional(),
    "Only wallets of the network with this id.",
    "01m80ydys10y2a8emavwntdfzj",
  ),
  type: described(evmWalletType.optional(), "Only wallets of this type.", "Purchasing"),
};

export const walletNote = described(
  textParameter(250).nullable(),
  "Note about the wallet. Null: none.",
  "Buyer",
);

const walletId = described(textParameter(), "Id of the wallet.", EXAMPLE_WALLET_ID);

/** `/x402/wallets`. */
export function registerWalletRoutes(router: Router): void {
  serve(
    router,
    {
      method: "get",
      operationId: "listX402Wallets",
      isConditional: true,
      path: "/x402/wallets",
      access: "+PAY",
      scope: "owner",
      tag: "x402",
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
      method: "get",
      operationId: "listX402WalletBalances",
      path: "/x402/wallets/balances",
      access: "+PAY",
      scope: "owner",
      tag: "x402",
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
      method: "post",
      operationId: "createX402Wallet",
      path: "/x402/wallets",
      access: "+PAY",
      scope: "owner",
      tag: "x402",
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
    (c, { body }) => createWallet(c, body, Date.now()),
  );

  serve(
    router,
    {
      method: "patch",
      operationId: "updateX402Wallet",
      path: "/x402/wallets",
      access: "+PAY",
      scope: "owner",
      tag: "x402",
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
      method: "delete",
      operationId: "deleteX402Wallet",
      path: "/x402/wallets",
      access: "+PAY",
      scope: "owner",
      tag: "x402",
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
      method: "get",
      operationId: "countX402Wallets",
      path: "/x402/wallets/count",
      access: "+PAY",
      scope: "owner",
      tag: "x402",
      summary: "Counts managed EVM wallets",
      description: "Counts the wallets of `GET /x402/wallets`.",
      query: z.object(walletFilters),
      data: countRecord,
    },
    async (c, { query }) => ({ total: await countWallets(c, query) }),
  );
}
