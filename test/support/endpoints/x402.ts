import type { EndpointCase, Field } from "./all.ts";

const long = (length: number) => "x".repeat(length + 1);
const NOT_TEXT = [5, true, null, {}, ["a"]];
const NOT_WHOLE_IN_QUERY = ["1.5", "ten", "", "1e1", "0x5"];
const ADDRESS = "0x036cbd53842c5426634e7929541ec2318f3dcf7e";
const NOT_ADDRESS = ["", "0x12", ADDRESS.slice(2), `0x${"0".repeat(40)}`, 5, {}, true];
const NOT_CAIP2 = ["", "84532", "eip155:", "eip155:0", "eip155:x", "solana:1", 5, {}, null];
const NOT_AMOUNT = ["", "ten", "1.5", "-1", "0x5", (2n ** 256n).toString(), 5, null, {}];

const id = (name: string): Field => ({
  name,
  required: true,
  refused: ["", long(250), ...NOT_TEXT],
});
const page: Field[] = [
  { name: "limit", refused: ["0", "101", "-1", ...NOT_WHOLE_IN_QUERY] },
  { name: "cursorId", refused: ["", long(250)] },
];

const NOT_DISCOVERY = ["x", 5, [], { serviceName: "" }, { tags: "x" }, { info: {} }];

const catalogFilters: Field[] = [
  { name: "limit", refused: ["0", "101", "-1", ...NOT_WHOLE_IN_QUERY] },
  { name: "payTo", refused: ["", "0x12"] },
  { name: "network", refused: ["", "eip155:", "1"] },
];

const settlementFilters: Field[] = [
  { name: "success", refused: ["", "1"] },
  { name: "caip2Network", refused: ["", "eip155:", "1"] },
];

const REQUIREMENTS = {
  scheme: "exact",
  network: "eip155:84532",
  amount: "10000",
  asset: ADDRESS,
  payTo: ADDRESS,
  maxTimeoutSeconds: 300,
};
const PAYLOAD = {
  x402Version: 2,
  resource: { url: "https://api.example.com/data" },
  accepted: REQUIREMENTS,
  payload: { signature: "0x2d6a" },
};

const settlement = (path: string): EndpointCase => ({
  method: "POST",
  path,
  access: "+PAY",
  valid: { supportedPaymentSourceId: "source", paymentPayload: PAYLOAD },
  fields: [
    id("supportedPaymentSourceId"),
    { name: "paymentPayload", required: true, refused: ["x", 5, null, []] },
    { name: "paymentPayload.x402Version", required: true, refused: ["2", 1.5, null, {}] },
    { name: "paymentPayload.resource", refused: ["x", 5, {}, { url: "" }, { url: 5 }] },
    { name: "paymentPayload.accepted", required: true, refused: ["x", 5, null, []] },
    { name: "paymentPayload.accepted.scheme", required: true, refused: ["", ...NOT_TEXT] },
    { name: "paymentPayload.accepted.network", required: true, refused: ["", ...NOT_TEXT] },
    { name: "paymentPayload.accepted.asset", required: true, refused: ["", ...NOT_TEXT] },
    { name: "paymentPayload.accepted.amount", required: true, refused: ["", ...NOT_TEXT] },
    { name: "paymentPayload.accepted.payTo", required: true, refused: ["", ...NOT_TEXT] },
    {
      name: "paymentPayload.accepted.maxTimeoutSeconds",
      required: true,
      refused: [0, -1, "300", null, {}],
    },
    { name: "paymentPayload.payload", required: true, refused: ["x", 5, null] },
    { name: "paymentRequirements", refused: ["x", 5, null, [], {}] },
  ],
});

/** The endpoints of the x402 x402. */
export const X402_ENDPOINTS: readonly EndpointCase[] = [
  settlement("/x402/settle"),
  settlement("/x402/verify"),
  {
    method: "GET",
    path: "/x402/payments",
    access: "+PAY",
    valid: { take: "5", status: "Settled", direction: "InboundSettle", caip2Network: "eip155:1" },
    fields: [
      { name: "take", refused: ["0", "101", "-1", ...NOT_WHOLE_IN_QUERY] },
      { name: "cursorId", refused: ["", long(550)] },
      { name: "status", refused: ["", "settled", "Pending"] },
      { name: "direction", refused: ["", "Inbound"] },
      { name: "caip2Network", refused: ["", "eip155:", "1", "eip155:x"] },
      { name: "paymentPayloadHash", refused: ["", long(64)] },
      { name: "createdFrom", refused: ["", "yesterday"] },
      { name: "createdTo", refused: ["", "2024-02-30"] },
      { name: "side", refused: ["", "both"] },
      { name: "isStuck", refused: ["", "1"] },
    ],
  },
  {
    method: "GET",
    path: "/x402/payments/count",
    access: "+PAY",
    valid: { status: "Settled", side: "sell", isStuck: "false" },
    fields: [
      { name: "status", refused: ["", "settled", "Pending"] },
      { name: "direction", refused: ["", "Inbound"] },
      { name: "side", refused: ["", "both"] },
      { name: "isStuck", refused: ["", "1"] },
      { name: "caip2Network", refused: ["", "eip155:", "1", "eip155:x"] },
      { name: "createdFrom", refused: ["", "yesterday"] },
    ],
  },
  {
    method: "POST",
    path: "/x402/payments/reconcile",
    access: "Admin",
    valid: { attemptId: "attempt" },
    fields: [
      id("attemptId"),
      { name: "expected", refused: ["", "settled", 5, null] },
      { name: "txHash", refused: ["", "0x12", 5, null] },
    ],
  },
  {
    method: "GET",
    path: "/x402/totals",
    access: "Admin",
    valid: { caip2Network: "eip155:1", timeZone: "Europe/Berlin" },
    fields: [
      { name: "createdFrom", refused: ["", "yesterday", "2020-01-01"] },
      { name: "createdTo", refused: ["", "2024-02-30"] },
      { name: "caip2Network", refused: ["", "eip155:", "1"] },
      { name: "timeZone", refused: ["", "Mars/Olympus", "+01:00"] },
    ],
  },
  {
    method: "GET",
    path: "/x402/settlements",
    access: "+PAY",
    valid: { limit: "5", success: "true", caip2Network: "eip155:1" },
    fields: [
      ...page,
      { name: "take", refused: ["0", "101", "-1", ...NOT_WHOLE_IN_QUERY] },
      ...settlementFilters,
    ],
  },
  {
    method: "GET",
    path: "/x402/settlements/count",
    access: "+PAY",
    valid: { success: "true", caip2Network: "eip155:1" },
    fields: settlementFilters,
  },
  {
    method: "GET",
    path: "/x402/payment-sources",
    access: "+PAY",
    valid: { limit: "5" },
    fields: page,
  },
  {
    method: "POST",
    path: "/x402/payment-sources",
    access: "+PAY",
    valid: {
      url: "https://api.example.com/data",
      caip2Network: "eip155:84532",
      amount: "10000",
      payTo: ADDRESS,
    },
    fields: [
      { name: "url", required: true, refused: ["", "api", "ftp://a.dev", 5, true, {}, ["a"]] },
      { name: "description", refused: ["", long(500), 5, {}] },
      { name: "caip2Network", required: true, refused: NOT_CAIP2 },
      { name: "asset", refused: [...NOT_ADDRESS, `0x${"e".repeat(40)}`] },
      {
        name: "amount",
        required: true,
        refused: ["0", ...NOT_AMOUNT.filter((value) => value !== null)],
      },
      { name: "payTo", required: true, refused: NOT_ADDRESS },
      { name: "maxTimeoutSeconds", refused: [0, 86_401, 1.5, "300", null] },
      { name: "extra", refused: ["x", 5, null, { name: "" }, { version: 5 }] },
      { name: "registryRequestId", refused: ["", long(250), 5] },
      { name: "discovery", refused: NOT_DISCOVERY },
    ],
  },
  {
    method: "PATCH",
    path: "/x402/payment-sources",
    access: "+PAY",
    valid: { id: "source", discovery: null },
    fields: [id("id"), { name: "discovery", required: true, refused: NOT_DISCOVERY }],
  },
  {
    method: "GET",
    path: "/x402/networks",
    access: "Admin",
    valid: { isTestnet: "true" },
    fields: [{ name: "isTestnet", refused: ["", "yes", "1"] }],
  },
  {
    method: "POST",
    path: "/x402/networks",
    access: "Admin",
    valid: { caip2Id: "eip155:84532" },
    fields: [
      { name: "caip2Id", required: true, refused: NOT_CAIP2 },
      { name: "displayName", refused: ["", long(120), ...NOT_TEXT] },
      { name: "rpcUrl", refused: ["", long(2000), ...NOT_TEXT] },
      { name: "isTestnet", refused: ["true", 1, null] },
      { name: "isEnabled", refused: ["true", 1, null] },
      { name: "defaultAsset", refused: NOT_ADDRESS },
      { name: "defaultAssetDecimals", refused: [-1, 256, 1.5, "6", {}] },
      { name: "facilitatorWalletId", refused: ["", long(250), 5, {}] },
      { name: "facilitatorWalletIds", refused: ["x", {}, null, [""], [5], Array(33).fill("x")] },
      { name: "facilitatorUrl", refused: ["", long(2000), 5, {}] },
      { name: "facilitatorAuth", refused: ["", "short", "ä".repeat(9), long(2000), 5, {}] },
      { name: "eip6492AllowedFactories", refused: ["x", {}, null, ["x"], Array(21).fill(ADDRESS)] },
      {
        name: "gasSponsoring",
        refused: ["x", 5, [], {}, { maxWeiPerPayer: "1000000000" }],
      },
    ],
  },
  {
    method: "GET",
    path: "/x402/networks/available",
    access: "+PAY",
    valid: { isTestnet: "false" },
    fields: [{ name: "isTestnet", refused: ["", "yes", "1"] }],
  },
  {
    method: "GET",
    path: "/x402/wallets",
    access: "+PAY",
    valid: { take: "5", caip2Network: "eip155:1", networkId: "network", type: "Selling" },
    fields: [
      ...page,
      { name: "take", refused: ["0", "101", "-1", ...NOT_WHOLE_IN_QUERY] },
      { name: "caip2Network", refused: ["", "eip155:", "1"] },
      { name: "networkId", refused: ["", long(250)] },
      { name: "type", refused: ["", "Funding", "selling"] },
      { name: "id", refused: ["", long(250)] },
    ],
  },
  {
    method: "GET",
    path: "/x402/wallets/count",
    access: "+PAY",
    valid: { caip2Network: "eip155:1", type: "Selling" },
    fields: [
      { name: "caip2Network", refused: ["", "eip155:", "1"] },
      { name: "networkId", refused: ["", long(250)] },
      { name: "type", refused: ["", "Funding", "selling"] },
    ],
  },
  {
    method: "PATCH",
    path: "/x402/wallets",
    access: "+PAY",
    valid: { id: "wallet", note: "note" },
    fields: [id("id"), { name: "note", refused: ["", long(250), 5, {}] }],
  },
  {
    method: "DELETE",
    path: "/x402/wallets",
    access: "+PAY",
    valid: { id: "wallet" },
    fields: [id("id")],
  },
  {
    method: "GET",
    path: "/x402/wallets/balances",
    access: "+PAY",
    valid: { limit: "5", caip2Network: "eip155:1" },
    fields: [
      { name: "limit", refused: ["0", "21", "-1", "1.5", "ten", ""] },
      { name: "cursorId", refused: ["", long(250)] },
      { name: "caip2Network", refused: ["", "eip155:", "1"] },
      { name: "id", refused: ["", long(250)] },
    ],
  },
  {
    method: "POST",
    path: "/x402/wallets",
    access: "+PAY",
    valid: { caip2Network: "eip155:84532", type: "Selling" },
    fields: [
      { name: "caip2Network", required: true, refused: NOT_CAIP2 },
      { name: "type", required: true, refused: ["", "selling", ...NOT_TEXT] },
      { name: "note", refused: ["", long(250), 5, {}] },
      { name: "privateKey", refused: ["", "0x12", "ab".repeat(32), 5, null] },
    ],
  },
  {
    method: "GET",
    path: "/x402/low-balance",
    access: "Admin",
    valid: { limit: "5", evmWalletId: "wallet", state: "Low", enabled: "true" },
    fields: [
      ...page,
      { name: "evmWalletId", refused: ["", long(250)] },
      { name: "state", refused: ["", "low"] },
      { name: "enabled", refused: ["", "1"] },
    ],
  },
  {
    method: "POST",
    path: "/x402/low-balance",
    access: "Admin",
    valid: { evmWalletId: "wallet", asset: "native", threshold: "1" },
    fields: [
      id("evmWalletId"),
      { name: "asset", refused: ["Native", ...NOT_ADDRESS] },
      { name: "threshold", required: true, refused: ["0", ...NOT_AMOUNT] },
      { name: "enabled", refused: ["true", 1, null] },
      { name: "caip2Network", refused: NOT_CAIP2 },
    ],
  },
  {
    method: "PATCH",
    path: "/x402/low-balance",
    access: "Admin",
    valid: { id: "rule", enabled: false },
    fields: [
      id("id"),
      { name: "threshold", refused: ["0", ...NOT_AMOUNT] },
      { name: "enabled", refused: ["true", 1, null] },
    ],
  },
  {
    method: "DELETE",
    path: "/x402/low-balance",
    access: "Admin",
    valid: { id: "rule" },
    fields: [id("id")],
  },
  {
    method: "POST",
    path: "/x402/pay",
    access: "+PAY",
    valid: {
      evmWalletId: "wallet",
      paymentRequired: {
        x402Version: 2,
        resource: { url: "https://api.example.com/data" },
        accepts: [REQUIREMENTS],
      },
    },
    fields: [
      { name: "evmWalletId", refused: ["", long(250), ...NOT_TEXT] },
      { name: "paymentRequired", required: true, refused: ["x", 5, null, []] },
      { name: "paymentRequired.x402Version", required: true, refused: [1, "2", null] },
      { name: "paymentRequired.resource", required: true, refused: ["x", {}, { url: "" }] },
      {
        name: "paymentRequired.accepts",
        required: true,
        refused: ["x", {}, [], [{}], Array(21).fill(REQUIREMENTS)],
      },
      { name: "paymentRequired.extensions", refused: ["x", 5, []] },
      { name: "preferredNetwork", refused: NOT_CAIP2 },
      { name: "preferredAsset", refused: [...NOT_ADDRESS, null] },
      { name: "preferredScheme", refused: ["", "batch-settlement", 5, null] },
      {
        name: "paymentIdentifier",
        refused: ["", "short", "x".repeat(129), "a".repeat(15), 5, null],
      },
    ],
  },
  {
    method: "GET",
    path: "/x402/budgets",
    access: "Admin",
    valid: { limit: "5", apiKeyId: "key" },
    fields: [...page, { name: "apiKeyId", refused: ["", long(250)] }],
  },
  {
    method: "POST",
    path: "/x402/budgets",
    access: "Admin",
    valid: { apiKeyId: "key", evmWalletId: "wallet", asset: ADDRESS, remainingAmount: "0" },
    fields: [
      id("apiKeyId"),
      id("evmWalletId"),
      { name: "caip2Network", refused: NOT_CAIP2 },
      { name: "asset", required: true, refused: [...NOT_ADDRESS, null] },
      { name: "remainingAmount", required: true, refused: NOT_AMOUNT },
      { name: "isEnabled", refused: ["true", 1, null] },
    ],
  },
  {
    method: "GET",
    path: "/x402/facilitator/supported",
    access: "+PAY",
    valid: {},
    fields: [],
    isPlain: true,
  },
  {
    method: "GET",
    path: "/x402/facilitator/discovery/resources",
    access: "none",
    valid: { limit: "5", offset: "5" },
    fields: [
      ...catalogFilters,
      { name: "offset", refused: ["-1", "10001", ...NOT_WHOLE_IN_QUERY] },
    ],
    isPlain: true,
  },
  {
    method: "GET",
    path: "/x402/facilitator/discovery/search",
    access: "none",
    valid: { query: "forecast", limit: "5" },
    fields: [...catalogFilters, { name: "query", required: true, refused: ["", long(250)] }],
    isPlain: true,
  },
  // What is wrong with a payment is told in the protocol's own words; see x402/differential.test.ts.
  {
    method: "POST",
    path: "/x402/facilitator/verify",
    access: "+PAY",
    valid: { x402Version: 2, paymentPayload: PAYLOAD, paymentRequirements: REQUIREMENTS },
    fields: [],
  },
  {
    method: "POST",
    path: "/x402/facilitator/settle",
    access: "+PAY",
    valid: { x402Version: 2, paymentPayload: PAYLOAD, paymentRequirements: REQUIREMENTS },
    fields: [],
  },
];
