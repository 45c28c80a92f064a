import * as z from "zod";
import type { AppContext } from "../http/context.ts";
import { type Router, serve } from "../http/endpoint.ts";
import { ApiError } from "../http/errors.ts";
import { described, idField, named, textField } from "../http/openapi/fields.ts";
import {
  cursorParameter,
  limitParameter,
  optionalTextParameter,
  textParameter,
} from "../http/openapi/parameters.ts";
import { ADMIN_RULES, OWNER_RULES } from "../x402/model/endpoint-rules.ts";
import {
  addressResponse,
  amountResponse,
  caip2,
  caip2Filter,
  EXAMPLE_ASSET,
  EXAMPLE_PAYER,
  EXAMPLE_WALLET_ID,
  nullableText,
  walletRecord,
} from "../x402/model/schemas.ts";
import { listNetworks } from "../x402/networks/save-network.ts";
import { listBudgets } from "../x402/pay/budgets.ts";
import { pay } from "../x402/pay/pay.ts";
import { PAY_ENDPOINT } from "../x402/pay/routes.ts";
import { budgetRecord } from "../x402/pay/schemas.ts";
import { deleteWallet, findOwnWallet, updateWallet } from "../x402/wallets/change-wallet.ts";
import { createX402Wallet } from "../x402/wallets/create-wallet.ts";
import { listBalances } from "../x402/wallets/list-balances.ts";
import { createdWallet, createWalletBody, walletNote } from "../x402/wallets/schemas.ts";

const EXAMPLE_NETWORK_ID = "01m80ydys10y2a8emavwntdfzj";

const decimals = described(z.int().min(0).max(255), "Decimals of the asset.", 18);

const chainBalance = named(
  "X402ChainBalance",
  "What a managed EVM wallet holds on its chain.",
  z.object({
    caip2Network: caip2,
    displayName: textField("Display name of the network.", "Base"),
    native: described(
      z
        .object({
          symbol: textField("Symbol of the native coin.", "ETH"),
          decimals,
          amount: amountResponse("Balance"),
        })
        .nullable(),
      "The native coin. Null: the reading failed.",
    ),
    asset: described(
      z
        .object({
          asset: addressResponse("Address of the token.", EXAMPLE_ASSET),
          symbol: described(z.null(), "Always null: the service reads no symbols.", null),
          decimals,
          amount: amountResponse("Balance"),
        })
        .nullable(),
      "The network's default token. Null: none, or the reading failed.",
    ),
    error: nullableText("Reason of a failed reading. Null: no failure.", "No answer"),
  }),
);

/** Operations of x402 that clients of other services call in another form. */
export function registerX402Routes(router: Router): void {
  const id = described(textParameter(), "Id of the wallet.", EXAMPLE_WALLET_ID);
  const errors = { 404: "There is no such wallet." };
  serve(
    router,
    {
      ...OWNER_RULES,
      method: "get",
      operationId: "getX402WalletBalance",
      path: "/x402/wallets/balance",
      summary: "Returns what a managed EVM wallet holds on its chain",
      description: "A disabled chain, or another chain than the wallet's, has no balances.",
      query: z.object({ id, caip2Network: caip2Filter }),
      data: z.object({
        evmWalletId: idField("the wallet", EXAMPLE_WALLET_ID),
        address: addressResponse("Address of the wallet.", EXAMPLE_PAYER),
        Balances: described(z.array(chainBalance), "The balances on the wallet's chain."),
      }),
      errors,
    },
    (c, { query }) => readWalletBalance(c, query.id, query.caip2Network),
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
      body: createWalletBody.extend({
        caip2Network: described(caip2.optional(), "EVM chain. Required without `networkId`."),
        networkId: optionalTextParameter(
          "Id of the network. Required without `caip2Network`.",
          EXAMPLE_NETWORK_ID,
        ),
      }),
      idempotent: true,
      data: createdWallet,
      errors: { 404: "There is no such network.", 409: "The wallet already exists." },
    },
    async (c, { body: { networkId, ...body } }) => {
      const caip2Network = body.caip2Network ?? (await findChain(c, networkId));
      return createX402Wallet(c, { ...body, caip2Network }, Date.now());
    },
  );

  serve(router, PAY_ENDPOINT, (c, { body }) => pay(c, body, Date.now(), false));

  serve(
    router,
    {
      ...OWNER_RULES,
      method: "get",
      operationId: "getX402Wallet",
      path: "/x402/wallets/detail",
      summary: "Shows a managed EVM wallet",
      query: z.object({ id }),
      data: walletRecord,
      errors,
    },
    (c, { query }) => findOwnWallet(c, query.id),
  );
  serve(
    router,
    {
      ...OWNER_RULES,
      method: "post",
      operationId: "postX402WalletUpdate",
      path: "/x402/wallets/update",
      summary: "Changes the note of a managed EVM wallet, as `PATCH /x402/wallets` does",
      body: z.object({ id, note: walletNote }),
      data: walletRecord,
      errors,
    },
    (c, { body }) => updateWallet(c, body, Date.now()),
  );
  serve(
    router,
    {
      ...OWNER_RULES,
      method: "post",
      operationId: "postX402WalletDelete",
      path: "/x402/wallets/delete",
      summary: "Removes a managed EVM wallet, as `DELETE /x402/wallets` does",
      body: z.object({ id }),
      data: z.object({ id: idField("the wallet", EXAMPLE_WALLET_ID) }),
      errors: { ...errors, 409: "The wallet has settlements that are not final yet." },
    },
    async (c, { body }) => ({ id: (await deleteWallet(c, body.id, Date.now())).id }),
  );

  serve(
    router,
    {
      ...ADMIN_RULES,
      method: "get",
      operationId: "listX402Budgets",
      isConditional: true,
      path: "/x402/budgets",
      summary: "Lists budgets, newest first",
      query: z.object({
        limit: limitParameter(1_000, 1_000),
        cursorId: cursorParameter(),
        apiKeyId: optionalTextParameter(
          "Only budgets of the API key with this id.",
          "01m80ydzq23ssn602zk7bexfp7",
        ),
      }),
      data: z.object({ Budgets: described(z.array(budgetRecord), "The budgets.") }),
    },
    async (c, { query }) => ({ Budgets: await listBudgets(c, query) }),
  );
}

/** @throws ApiError 400, 404 */
async function findChain(c: AppContext, networkId: string | undefined): Promise<string> {
  if (networkId === undefined) throw new ApiError(400, "networkId: is required");
  const networks = await listNetworks(c.env, c.var.deadline);
  const found = networks.find(({ id }) => id === networkId);
  if (!found) throw new ApiError(404, "networkId: there is no such network");
  return found.caip2Id;
}

/** @throws ApiError 404 */
async function readWalletBalance(c: AppContext, id: string, caip2Network: string | undefined) {
  const wallet = await findOwnWallet(c, id);
  const networks = await listNetworks(c.env, c.var.deadline);
  const network = networks.find(
    ({ caip2Id, isEnabled }) =>
      isEnabled && caip2Id === wallet.caip2Network && caip2Id === (caip2Network ?? caip2Id),
  );
  const balances = network ? await listBalances(c, { limit: 1, id }, Date.now()) : [];
  return {
    evmWalletId: id,
    address: wallet.address,
    Balances: network ? balances.map((one) => toExternalBalance(one, network)) : [],
  };
}

/** Symbols of the native coins that clients print; a chain that is not here has `Native`. */
const NATIVE_SYMBOLS: Readonly<Record<string, string>> = {
  "eip155:1": "ETH",
  "eip155:10": "ETH",
  "eip155:56": "BNB",
  "eip155:100": "xDAI",
  "eip155:137": "POL",
  "eip155:8453": "ETH",
  "eip155:42161": "ETH",
  "eip155:43114": "AVAX",
  "eip155:84532": "ETH",
  "eip155:11155111": "ETH",
};

/** The balances of a wallet: the native coin, and the default token of its network. */
function toExternalBalance(
  { caip2Network, error, Assets }: Awaited<ReturnType<typeof listBalances>>[number],
  { displayName, defaultAsset }: { displayName: string; defaultAsset: string | null },
) {
  const read = (wanted: string | null) => {
    const found = Assets.find(({ asset }) => asset === wanted);
    if (!found || found.decimals === null || found.amount === null) return null;
    return { asset: found.asset, decimals: found.decimals, amount: found.amount };
  };
  const native = read("native");
  const token = read(defaultAsset);
  return {
    caip2Network,
    displayName,
    native: native && {
      symbol: NATIVE_SYMBOLS[caip2Network] ?? "Native",
      ...{ decimals: native.decimals, amount: native.amount },
    },
    asset: token && { ...token, symbol: null },
    error,
  };
}
