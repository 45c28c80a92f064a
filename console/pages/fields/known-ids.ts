/** What forms and filters ask for by its identifier, and the lists that know it. */
import type { KnownIds } from "../../ui/resource.ts";

export const PAYMENT_SOURCES: KnownIds = {
  path: "/payment-source",
  rows: "PaymentSources",
  at: "id",
  label: ["paymentSourceType", "smartContractAddress"],
  hasNetwork: true,
  needs: "User",
};

export const WALLETS: KnownIds = {
  path: "/wallet/list",
  rows: "Wallets",
  at: "id",
  label: ["type", "note", "walletAddress"],
  needs: "+PAY",
};

export const WALLET_KEYS: KnownIds = { ...WALLETS, at: "walletVkey" };

export const SELLING_WALLET_KEYS: KnownIds = {
  ...WALLET_KEYS,
  query: { walletType: "Selling" },
};

export const UNITS: KnownIds = {
  path: "/units",
  rows: "Units",
  at: "unit",
  label: ["ticker"],
  isWhole: true,
  needs: "User",
};

export const ENDPOINTS: KnownIds = {
  path: "/webhooks",
  rows: "Webhooks",
  at: "id",
  label: ["name", "url"],
  query: { limit: "50" },
  needs: "+PAY",
};

export const EVM_WALLETS: KnownIds = {
  path: "/x402/wallets",
  rows: "Wallets",
  at: "id",
  label: ["type", "note", "address"],
  needs: "+PAY",
};

export const EVM_NETWORKS: KnownIds = {
  path: "/x402/networks/available",
  rows: "Networks",
  at: "caip2Id",
  label: ["displayName"],
  isWhole: true,
  needs: "User",
};

export const API_KEYS: KnownIds = {
  path: "/api-key",
  rows: "ApiKeys",
  at: "id",
  label: ["name", "token"],
  needs: "Admin",
};

export const BOT_VERSIONS: KnownIds = {
  path: "/v1/admin/worker-bots/versions",
  rows: "versions",
  at: "id",
  label: ["name"],
  query: { status: "Active" },
  needs: "Admin",
};
