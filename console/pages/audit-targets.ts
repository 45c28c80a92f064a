/** What an entry of the audit log was done to: what it is called, and where it is shown. */
import { formatMemberName, formatUnit } from "../ui/format.ts";
import { textAt } from "../ui/path.ts";
import type { KnownIds, Reference } from "../ui/resource.ts";
import {
  ALL_EVM_NETWORKS,
  API_KEYS,
  BALANCE_RULES,
  ENDPOINTS,
  EVM_WALLETS,
  PAYMENT_SOURCES,
  REGISTRATIONS,
  REGISTRY_SOURCES,
  TOP_UP_RULES,
  WALLETS,
} from "./fields/known-ids.ts";

const EVM_NETWORK_IDS: KnownIds = { ...ALL_EVM_NETWORKS, idPath: "id" };

interface Target {
  /** What the target is, where that is not the first word of the action. */
  what?: string;
  knownIds?: KnownIds;
  /** The list that has a row for it. */
  page?: string;
  tab?: string;
}

/** By the action, else by the part before its dot. */
const TARGETS: Readonly<Record<string, Target>> = {
  "api-key": { what: "API key", knownIds: API_KEYS, page: "keys" },
  webhook: { what: "Endpoint", knownIds: ENDPOINTS, page: "webhooks" },
  wallet: { knownIds: WALLETS, page: "wallets" },
  "wallet.transfer": { what: "Transfer", page: "wallets", tab: "transfers" },
  "low-balance-rule": {
    what: "Balance rule",
    knownIds: BALANCE_RULES,
    page: "wallets",
    tab: "rules",
  },
  "top-up-rule": { what: "Top-up rule", knownIds: TOP_UP_RULES, page: "wallets", tab: "top-ups" },
  "payment-source": { knownIds: PAYMENT_SOURCES, page: "sources" },
  "reference-script": { page: "sources" },
  "registry-source": { knownIds: REGISTRY_SOURCES, page: "sources", tab: "registry" },
  dispute: { what: "Proposal", page: "disputes" },
  agent: { knownIds: REGISTRATIONS, page: "agents", tab: "registered" },
  "inbox-agent": { what: "Inbox agent", page: "agents", tab: "inbox-registered" },
  invoice: { page: "invoices" },
  unit: { what: "Token", page: "sources", tab: "units" },
  "x402-network": { what: "EVM network", knownIds: EVM_NETWORK_IDS, page: "x402", tab: "networks" },
  "x402-wallet": { what: "EVM wallet", knownIds: EVM_WALLETS, page: "x402", tab: "wallets" },
  "x402-budget": { what: "EVM wallet", knownIds: EVM_WALLETS, page: "x402", tab: "budgets" },
  "x402-low-balance": { what: "EVM balance rule", page: "x402", tab: "rules" },
  "x402-low-balance.save": {
    what: "EVM wallet",
    knownIds: EVM_WALLETS,
    page: "x402",
    tab: "rules",
  },
  "x402-payment-source": { what: "Resource", page: "x402", tab: "resources" },
  x402: { what: "x402 payment", page: "x402" },
  "worker-bot": { page: "worker-bots" },
  "worker-bot-version": { what: "Version", page: "worker-bots", tab: "versions" },
  "worker-bot.migrate": { what: "Version", page: "worker-bots", tab: "versions" },
};

/** Lists that name what an entry's details identify, by the members of the details. */
export const DETAIL_IDS: Readonly<Record<string, KnownIds>> = {
  wallet: WALLETS,
  wallets: WALLETS,
  walletId: WALLETS,
  walletLimit: WALLETS,
  paymentSourceId: PAYMENT_SOURCES,
  evmWalletId: EVM_WALLETS,
  apiKeyId: API_KEYS,
};

/** `payment.create` as `Payment: create`. What is of x402 has the name of its list. */
export function formatAuditAction(action: string): string {
  const [object = "", ...rest] = action.split(".");
  const name = (/^x402/.test(object) && TARGETS[object]?.what) || formatMemberName(object);
  return [name, rest.map(formatMemberName).join(" ").toLowerCase()].filter(Boolean).join(": ");
}

/** The key that made an entry. */
export function describeActor(row: unknown): Reference {
  const id = textAt(row, "apiKeyId");
  const name = id === "env-admin" ? { label: "Key of the deployment" } : { knownIds: API_KEYS };
  return { what: "", id, ...name, page: "keys", query: { on: id } };
}

/** A rate has no id: it is one of a month, a currency and a unit. */
function describeRate(id: string): Reference {
  const [month = "", currency = "", unit = ""] = id.split(" ");
  const label = `${formatUnit(unit)} in ${currency}, ${month}`;
  return { what: "Rate", id, label, page: "invoices", query: { tab: "rates", month, currency } };
}

export function describeTarget(row: unknown): Reference {
  const [action, id] = [textAt(row, "action"), textAt(row, "target")];
  const [object = "", verb = ""] = action.split(".");
  // An escrow has its own page.
  if (object === "payment" || object === "purchase")
    return { what: formatMemberName(object), id, page: object, pageId: id, query: {} };
  if (object === "invoice-rate") return describeRate(id);
  const { what = formatMemberName(object), ...target } = TARGETS[action] ?? TARGETS[object] ?? {};
  // The page shows the script at its source.
  const shownId = object === "reference-script" ? textAt(row, "detail.paymentSourceId") : id;
  const isGone = /^(delete|remove|erase)$/.test(verb);
  return {
    what,
    id,
    knownIds: target.knownIds,
    ...(object === "unit" && { label: formatUnit(id) }),
    ...(!isGone && { page: target.page }),
    query: { tab: target.tab, ...(object !== "dispute" && { on: shownId }) },
  };
}
