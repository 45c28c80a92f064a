import { ADMIN } from "../../../devnet/demo/actors/wallets.ts";
import { request, signed } from "../../invoices/support.ts";
import { UNBILLED_MONTH } from "../deployment/escrows.ts";
import { type Probe, type Probes, probeWith } from "./probe.ts";

const AMOUNT = "5000000";
const revealToAdmins = (isRevealed: (body: string) => boolean): Pick<Probe, "reveals"> => ({
  reveals: { audience: "admin", isRevealed },
});
const isUp = (body: string) => body.includes('"ok"');

const probeSource = (name: "sourceId" | "otherSourceId") =>
  probeWith((resources) => ({ id: resources[name] }));

/** @param added - what a new rule has beside its wallet and unit */
function probeRules(path: string, rule: "lowBalanceRuleId" | "topUpRuleId", added: object): Probes {
  return {
    [`GET ${path}`]: probeWith(
      () => ({}),
      ({ sellerId }) => ({ walletId: sellerId }),
    ),
    [`POST ${path}`]: probeWith(({ buyerId }) => ({ walletId: buyerId, unit: "", ...added })),
    [`PATCH ${path}`]: probeWith((resources) => ({ id: resources[rule], enabled: false })),
    [`DELETE ${path}`]: probeWith((resources) => ({ id: resources[rule] })),
  };
}

const bots = "/v1/admin/worker-bots";

/** Requests about sources, wallets, keys, invoices and what else Admins run. */
export const ADMINISTRATION_PROBES: Probes = {
  "GET /health": probeWith(() => ({})),
  "GET /health/ready": probeWith(() => ({})),
  "GET /health/live": [{ fields: () => ({}), reveals: { audience: "public", isRevealed: isUp } }],
  "GET /metrics": [
    { fields: () => ({}), ...revealToAdmins((body) => body.includes("agent_payment_")) },
  ],
  "GET /provider-budget": [
    {
      fields: ({ sourceId }) => ({ sourceId }),
      ...revealToAdmins((body) => body.includes("callsPerSecond")),
    },
  ],
  "GET /payment-source-extended": probeWith(({ network }) => ({ network })),
  "POST /payment-source-extended": probeWith(({ network }, { free }) => ({
    network,
    paymentSourceType: "Web3ChainV1",
    smartContractAddress: free.contract.address,
    policyId: free.contract.policyId,
    PaymentSourceConfig: { rpcProviderApiKey: "key", rpcProvider: "Blockfrost" },
    AdminWallets: [{ walletAddress: ADMIN.address }],
    FeeReceiverNetworkWallet: { walletAddress: ADMIN.address },
    feeRatePermille: 50,
  })),
  "PATCH /payment-source-extended": probeWith(({ sourceId }) => ({
    id: sourceId,
    drives: "finish",
  })),
  "DELETE /payment-source-extended": probeWith(({ sourceId }) => ({ id: sourceId, force: true })),
  "POST /payment-source-extended/provider/check": [
    {
      fields: ({ network }) => ({ network, rpcProvider: "Blockfrost", rpcProviderApiKey: "key" }),
      ...revealToAdmins((body) => body.includes("addressHistory")),
    },
  ],
  "GET /payment-source-extended/reference-script": probeSource("sourceId"),
  "POST /payment-source-extended/reference-script": probeSource("otherSourceId"),
  "DELETE /payment-source-extended/reference-script": probeSource("sourceId"),
  "GET /payment-source": probeWith(
    () => ({}),
    ({ network }) => ({ network }),
  ),
  "GET /rail-readiness": [
    {
      fields: ({ network }) => ({ network }),
      reveals: { audience: "source", isRevealed: (body) => body.includes("smartContractAddress") },
    },
  ],
  "GET /wallet/list": probeWith(
    () => ({}),
    ({ sourceId }) => ({ paymentSourceId: sourceId }),
    ({ sellerVkey }) => ({ walletVkey: sellerVkey }),
    ({ buyerAddress }) => ({ walletAddress: buyerAddress }),
    ({ sellerId }) => ({ id: sellerId }),
  ),
  "GET /wallet": probeWith(
    ({ sellerId }) => ({ id: sellerId }),
    ({ sellerId }) => ({ id: sellerId, includeSecret: true }),
  ),
  "POST /wallet": probeWith(({ network, sourceId }) => ({
    network,
    paymentSourceId: sourceId,
    walletType: "Selling",
  })),
  "PATCH /wallet": probeWith(({ sellerId }) => ({ id: sellerId, note: "changed" })),
  "DELETE /wallet": probeWith(({ spareWalletId }) => ({ id: spareWalletId })),
  "GET /wallet/transaction": probeWith(
    ({ network }) => ({ network }),
    ({ network, sellerVkey }) => ({ network, walletVkey: sellerVkey }),
  ),
  "GET /wallet/transfer-funds": probeWith(
    () => ({}),
    ({ transferId }) => ({ id: transferId }),
  ),
  "POST /wallet/transfer-funds": probeWith(({ sellerAddress, buyerAddress }) => ({
    fromWalletAddress: sellerAddress,
    toAddress: buyerAddress,
    minorUnitAmount: AMOUNT,
  })),
  ...probeRules("/wallet/low-balance", "lowBalanceRuleId", { thresholdAmount: AMOUNT }),
  ...probeRules("/wallet/top-up", "topUpRuleId", { below: AMOUNT, upTo: "15000000" }),
  "GET /api-key": probeWith(() => ({})),
  "POST /api-key": probeWith(() => ({ permission: "User" })),
  "PATCH /api-key": probeWith(({ otherKeyId }) => ({ id: otherKeyId, name: "changed" })),
  "DELETE /api-key": probeWith(({ otherKeyId }) => ({ id: otherKeyId })),
  "POST /erasure": probeWith(({ otherKeyId }) => ({ apiKeyId: otherKeyId })),
  "GET /api-key-status": probeWith(() => ({})),
  "GET /audit": probeWith(
    () => ({}),
    ({ ownerId }) => ({ apiKeyId: ownerId }),
  ),
  [`GET ${bots}`]: probeWith(() => ({})),
  [`POST ${bots}`]: probeWith(({ botVersionId }) => ({ name: "Ada", versionId: botVersionId })),
  [`DELETE ${bots}`]: probeWith(({ botId }) => ({ id: botId })),
  [`GET ${bots}/moves`]: [
    {
      fields: () => ({}),
      ...revealToAdmins((body) => Array.isArray(JSON.parse(body).data?.moves)),
    },
  ],
  [`GET ${bots}/versions`]: probeWith(() => ({})),
  [`POST ${bots}/versions`]: probeWith(() => ({ id: "v-new", name: "New" })),
  [`DELETE ${bots}/versions`]: probeWith(({ spareVersionId }) => ({ id: spareVersionId })),
  [`POST ${bots}/versions/migrate`]: probeWith(({ spareVersionId }) => ({
    toVersionId: spareVersionId,
    reason: "a test",
  })),
  "POST /invoice/monthly": probeWith(({ sellerVkey }) =>
    signed({ month: UNBILLED_MONTH, sellerWalletVkey: sellerVkey }),
  ),
  "POST /invoice/monthly/internal": probeWith(({ network, sellerVkey }) => ({
    ...{ network, sellerWalletVkey: sellerVkey },
    ...request({ month: UNBILLED_MONTH }),
  })),
  "GET /invoice/monthly": probeWith(
    ({ network, rateMonth }) => ({ network, month: rateMonth }),
    ({ network, rateMonth, invoiceBaseId }) => ({ network, month: rateMonth, invoiceBaseId }),
  ),
  "GET /invoice/monthly/missing": probeWith(
    ({ network }) => ({ network, month: UNBILLED_MONTH }),
    ({ network, buyerKeyHash }) => ({
      ...{ network, month: UNBILLED_MONTH },
      buyerWalletVkey: buyerKeyHash,
    }),
  ),
  "GET /invoice/rates": [
    {
      fields: ({ rateMonth }) => ({ month: rateMonth }),
      ...revealToAdmins((body) => body.includes("House rate")),
    },
  ],
  "POST /invoice/rates": probeWith(({ unit, rateMonth }) => ({
    ...{ unit, currency: "eur", month: rateMonth, rate: 0.5, source: "Somebody" },
  })),
  "GET /units": probeWith(() => ({})),
  "POST /units": probeWith(({ unit }) => ({ unit, ticker: "NEW", decimals: 2 })),
  "DELETE /units": probeWith(({ unit }) => ({ unit })),
  "GET /utxos": probeWith(({ network, sellerAddress }) => ({ network, address: sellerAddress })),
  "GET /balance": probeWith(({ network, sellerAddress }) => ({ network, address: sellerAddress })),
};
