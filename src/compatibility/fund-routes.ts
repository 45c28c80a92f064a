import * as z from "zod";
import { openDb } from "../db/client.ts";
import type { AppContext } from "../http/context.ts";
import { type Router, serve } from "../http/endpoint.ts";
import {
  described,
  idField,
  named,
  nullableTimestampField,
  textField,
} from "../http/openapi/fields.ts";
import { cursorParameter, limitParameter } from "../http/openapi/parameters.ts";
import { applyWalletChanges } from "../payment-sources/apply-wallet-changes.ts";
import { removeEmptyWallet } from "../payment-sources/remove-wallet.ts";
import { REMOVE_WALLET_ENDPOINT } from "../payment-sources/routes.ts";
import { requireActiveSource } from "../sources/find-source.ts";
import { WALLET_FEATURES } from "../wallet-features.ts";
import { createWallet } from "../wallets/create-wallet.ts";
import { type WalletResponse, walletResponse } from "../wallets/details/response-schemas.ts";
import { changeWallet, listWallets } from "../wallets/manage-wallets.ts";
import { createWalletNotFoundError, requireActiveWallet } from "../wallets/managed/find-wallet.ts";
import { toWalletRecord } from "../wallets/managed/render-wallet.ts";
import {
  changeWalletBody,
  mnemonic,
  type WalletRecord,
  walletListQuery,
  walletRecord,
} from "../wallets/managed/schemas.ts";
import { WALLET_ENDPOINTS } from "../wallets/routes.ts";
import { CHECK_WINDOW_MS, requestTopUpCheck } from "../wallets/top-ups/check.ts";
import { listTransfers } from "../wallets/transfers/list-transfers.ts";
import { distribution, transferQuery, transferRecord } from "../wallets/transfers/schemas.ts";
import { TRANSFER_FEATURE, type TransferRow } from "../wallets/transfers/tables.ts";
import { toTransferResponse } from "../wallets/transfers/to-transfer-response.ts";
import { toExternalUnit } from "./wallet-routes.ts";

const { id, note } = changeWalletBody.shape;
const { paymentSourceId } = walletListQuery.shape;
const fundWalletQuery = z
  .object({ id: id.optional(), paymentSourceId })
  .refine((query) => (query.id ?? query.paymentSourceId) !== undefined, {
    error: "id or paymentSourceId is required",
  });

const newFundWallet = z.object({
  paymentSourceId: described(paymentSourceId.unwrap(), "Id of the payment source."),
  walletMnemonic: described(mnemonic, "Words of the wallet (BIP-39). Never returned."),
  note,
});

const fundWalletChange = z.object({
  id,
  enabled: described(z.boolean().optional(), "True: `drives` is `all`. False: `nothing`.", true),
});

const FundDistributionConfig = described(
  z.object({
    id: idField("the Funding wallet"),
    enabled: described(z.boolean(), "Whether the wallet tops up others.", true),
    batchWindowMs: described(z.int(), "Milliseconds between checks. Fixed.", CHECK_WINDOW_MS),
  }),
  "How a Funding wallet tops up others.",
);

const configuredWallet = named(
  "ConfiguredFundWallet",
  "A Funding wallet with its configuration.",
  walletRecord.extend({ FundDistributionConfig }),
);

function toConfigured(wallet: WalletRecord): z.input<typeof configuredWallet> {
  const enabled = wallet.drives !== "nothing";
  const config = { id: wallet.id, enabled, batchWindowMs: CHECK_WINDOW_MS };
  return { ...wallet, FundDistributionConfig: config };
}

const fundWallet = named(
  "FundWallet",
  "A Funding wallet with what it does.",
  walletResponse.extend({
    FundDistributionConfig,
    lockedAt: nullableTimestampField(
      "Since when its oldest pending transaction is in its state. Null: none.",
      null,
    ),
    pendingRequestCount: described(z.int(), "Transfers without a transaction, up to 20.", 0),
  }),
);

function toFundWallet(wallet: WalletResponse): z.input<typeof fundWallet> {
  return {
    ...wallet,
    ...toConfigured(wallet),
    lockedAt: wallet.Transactions[0]?.since ?? null,
    pendingRequestCount: wallet.Waiting.filter(({ feature }) => feature === TRANSFER_FEATURE)
      .length,
  };
}

const status = named(
  "FundDistributionStatus",
  "Status of a top-up.",
  z.enum(["Pending", "Submitted", "Confirmed", "Failed"]),
);

const distributionQuery = z.object({
  paymentSourceId,
  fundWalletId: transferQuery.shape.hotWalletId,
  status: described(status.optional(), "Only top-ups with this status.", "Submitted"),
  take: limitParameter(100, 20),
  cursorId: cursorParameter(),
});

const { fundWalletId, distributions } = distribution.shape;
const { targetWalletId, amount } = distributions.element.shape;
const externalDistribution = named(
  "FundDistributionRequest",
  "A top-up of a wallet.",
  transferRecord.extend({
    fundWalletId,
    targetWalletId,
    priority: described(z.literal("Warning"), "Always `Warning`: all top-ups share a window."),
    assetUnit: textField("Unit of `amount`, with `lovelace` for the native coin.", "lovelace"),
    amount,
    status: described(status, "Status of the top-up.", "Submitted"),
    error: described(z.string().nullable(), "Why the top-up failed. Null: no failure.", null),
    batchId: described(z.string().nullable(), "Id of the transaction in events. Null: none."),
  }),
);

function toExternalDistribution(row: TransferRow): z.input<typeof externalDistribution> {
  const [token] = row.assets;
  return {
    ...toTransferResponse(row),
    fundWalletId: row.walletId,
    targetWalletId: row.topUpWalletId ?? "",
    priority: "Warning",
    assetUnit: toExternalUnit(token?.unit ?? ""),
    amount: token?.quantity ?? row.tx?.coin ?? row.coin,
    status: row.state === "Sent" ? "Submitted" : row.state,
    error: row.error,
    batchId: Object.keys(row.eventCounts).toSorted().at(-1) ?? null,
  };
}

const RULES = { access: "Admin", scope: "admin", tag: "Wallets" } as const;

/** Funding wallets and their top-ups, as clients of the payment service know them. */
export function registerFundRoutes(router: Router): void {
  serve(
    router,
    {
      ...RULES,
      method: "get",
      operationId: "listFundWallets",
      isConditional: true,
      path: "/fund-wallet",
      summary: "Lists Funding wallets, newest first",
      query: fundWalletQuery,
      data: z.object({ FundWallets: described(z.array(fundWallet), "The Funding wallets.") }),
    },
    async (c, { query }) => {
      const filter = { ...query, walletType: "Funding", limit: 100 } as const;
      return { FundWallets: (await listWallets(c, filter, WALLET_FEATURES)).map(toFundWallet) };
    },
  );

  serve(
    router,
    {
      ...RULES,
      method: "post",
      operationId: "createFundWallet",
      path: "/fund-wallet",
      summary: "Adds a Funding wallet to a payment source",
      body: newFundWallet,
      idempotent: true,
      data: configuredWallet,
      errors: { 404: "There is no such payment source.", 409: "The wallet is already managed." },
    },
    async (c, { body }) => {
      const source = await requireActiveSource(open(c), body.paymentSourceId, "paymentSourceId");
      const wallet = { ...body, network: source.network, walletType: "Funding" } as const;
      const onAdded = () => applyWalletChanges(c.env, source.id, c.var.deadline);
      const { Wallet } = await createWallet(c, wallet, onAdded, Date.now());
      if (!Wallet) throw new Error("the wallet was not added");
      return toConfigured(Wallet);
    },
  );

  serve(
    router,
    {
      ...WALLET_ENDPOINTS.update,
      operationId: "updateFundWallet",
      path: "/fund-wallet",
      summary: "Switches the top-ups by a Funding wallet on or off",
      body: fundWalletChange,
      data: configuredWallet,
    },
    async (c, { body: { id, enabled } }) => {
      const present = await requireActiveWallet(open(c), id, "id");
      if (present.role !== "Funding") throw createWalletNotFoundError("id");
      if (enabled === undefined) return toConfigured(toWalletRecord(present));
      const drives = enabled ? "all" : "nothing";
      return toConfigured(await changeWallet(c, { id, drives }, Date.now()));
    },
  );

  serve(
    router,
    {
      ...REMOVE_WALLET_ENDPOINT,
      operationId: "deleteFundWallet",
      path: "/fund-wallet",
      summary: "Removes a Funding wallet that holds nothing and has nothing to do",
      body: z.object({ id }),
    },
    (c, { body: { id } }) => removeEmptyWallet(c, { id, role: "Funding" }, Date.now()),
  );

  serve(
    router,
    {
      ...RULES,
      method: "get",
      operationId: "listFundDistributions",
      isConditional: true,
      path: "/fund-distribution",
      summary: "Lists the top-ups of wallets, newest first",
      query: distributionQuery,
      data: z.object({
        FundDistributions: described(z.array(externalDistribution), "The top-ups."),
      }),
    },
    async (c, { query: { take: limit, cursorId, status, ...query } }) => {
      const rows = await listTransfers(open(c), {
        limit,
        cursorId,
        state: status === "Submitted" ? "Sent" : status,
        sourceId: query.paymentSourceId,
        walletId: query.fundWalletId,
        isTopUp: true,
      });
      return { FundDistributions: rows.map(toExternalDistribution) };
    },
  );

  serve(
    router,
    {
      ...RULES,
      method: "post",
      operationId: "triggerFundDistribution",
      path: "/fund-distribution/trigger",
      summary: "Has all top-up rules checked within a minute",
      data: z.object({
        triggered: described(z.literal(true), "The rules are due.", true),
        alreadyRunning: described(z.literal(false), "Always false: checks may overlap.", false),
      }),
    },
    async (c) => {
      await requestTopUpCheck(open(c));
      return { triggered: true as const, alreadyRunning: false as const };
    },
  );
}

function open(c: AppContext) {
  return openDb(c.env, undefined, { writes: "idempotent", deadline: c.var.deadline });
}
