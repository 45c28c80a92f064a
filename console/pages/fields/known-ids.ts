/** What forms and filters ask for by its identifier, and the lists that know it. */
import { formatFunds } from "../../ui/format.ts";
import { textAt } from "../../ui/path.ts";
import type { KnownIds } from "../../ui/resource.ts";

export const PAYMENT_SOURCES: KnownIds = {
  path: "/payment-source",
  rowsMember: "PaymentSources",
  idPath: "id",
  labelPaths: ["paymentSourceType", "smartContractAddress"],
  hasNetwork: true,
  access: "User",
};

export const REGISTRY_SOURCES: KnownIds = {
  path: "/registry-source",
  rowsMember: "sources",
  idPath: "id",
  labelPaths: ["note", "policyId"],
  access: "Admin",
};

/** Agents that were registered here. */
export const REGISTRATIONS: KnownIds = {
  path: "/registry",
  rowsMember: "Assets",
  idPath: "id",
  labelPaths: ["name"],
  hasNetwork: true,
  access: "User",
};

/** Contracts by their address. */
export const CONTRACTS: KnownIds = { ...PAYMENT_SOURCES, idPath: "smartContractAddress" };

/** Agents that the registry found on the chain. */
export const AGENTS: KnownIds = {
  method: "POST",
  path: "/registry-entry",
  rowsMember: "entries",
  idPath: "agentIdentifier",
  labelPaths: ["name", "status", "agentIdentifier"],
  limit: 50,
  body: { filter: { status: ["Online", "Offline", "Invalid", "Deregistered"] } },
  hasNetwork: true,
  access: "User",
};

export const WALLETS: KnownIds = {
  path: "/wallet/list",
  rowsMember: "Wallets",
  idPath: "id",
  labelPaths: ["note", "type", "walletAddress"],
  access: "+PAY",
};

/** Rules by what they are about: `below 15 ADA`. */
const createRuleIds = (path: string, thresholdPath: string): KnownIds => ({
  path,
  rowsMember: "Rules",
  idPath: "id",
  labelPaths: [],
  describe: (row) => `below ${formatFunds(textAt(row, thresholdPath), textAt(row, "unit"))}`,
  access: "Admin",
});

export const BALANCE_RULES = createRuleIds("/wallet/low-balance", "thresholdAmount");
export const TOP_UP_RULES = createRuleIds("/wallet/top-up", "below");

export const WALLET_KEYS: KnownIds = { ...WALLETS, idPath: "walletVkey" };

export const SELLING_WALLET_KEYS: KnownIds = {
  ...WALLET_KEYS,
  query: { walletType: "Selling" },
};

export const UNITS: KnownIds = {
  path: "/units",
  rowsMember: "Units",
  idPath: "unit",
  labelPaths: [],
  describe: (row) => textAt(row, "ticker"),
  isWhole: true,
  access: "User",
};

export const ENDPOINTS: KnownIds = {
  path: "/webhooks",
  rowsMember: "Webhooks",
  idPath: "id",
  labelPaths: ["name", "url"],
  query: { limit: "50" },
  access: "+PAY",
};

export const EVM_WALLETS: KnownIds = {
  path: "/x402/wallets",
  rowsMember: "Wallets",
  idPath: "id",
  labelPaths: ["note", "type", "address"],
  access: "+PAY",
};

export const EVM_NETWORKS: KnownIds = {
  path: "/x402/networks/available",
  rowsMember: "Networks",
  idPath: "caip2Id",
  labelPaths: ["displayName"],
  isWhole: true,
  access: "User",
};

/** Those that are disabled too. */
export const ALL_EVM_NETWORKS: KnownIds = {
  ...EVM_NETWORKS,
  path: "/x402/networks",
  access: "Admin",
};

export const API_KEYS: KnownIds = {
  path: "/api-key",
  rowsMember: "ApiKeys",
  idPath: "id",
  labelPaths: ["name", "token"],
  access: "Admin",
};

export const BOT_VERSIONS: KnownIds = {
  path: "/v1/admin/worker-bots/versions",
  rowsMember: "versions",
  idPath: "id",
  labelPaths: ["name"],
  query: { status: "Active" },
  access: "Admin",
};
