import type { EndpointCase, Field } from "./all.ts";

const long = (length: number) => "x".repeat(length + 1);
const NOT_TEXT = [5, true, {}, ["a"]];
const BAD_TEXT = ["", ...NOT_TEXT, null];

const network: Field = {
  name: "network",
  required: true,
  refused: ["preprod", "Testnet", ...BAD_TEXT],
};
const identifier: Field = {
  name: "agentIdentifier",
  required: true,
  refused: ["ab".repeat(28), "ab".repeat(126), "xy".repeat(60), "a".repeat(61), ...BAD_TEXT],
};
const id: Field = { name: "id", required: true, refused: [long(250), ...BAD_TEXT] };
const contract: Field = { name: "smartContractAddress", refused: [long(250), ...BAD_TEXT] };

const sellingWallet: Field = {
  name: "sellingWalletVkey",
  required: true,
  refused: ["ab".repeat(27), "xy".repeat(28), ...BAD_TEXT],
};
const minting: Field[] = [
  network,
  { name: "recipientWalletAddress", refused: ["", long(250), ...NOT_TEXT] },
  {
    name: "sendFundingMinorUnit",
    refused: ["", "0", "-1", "1.5", "05", "9".repeat(20), ...NOT_TEXT],
  },
];
const registering = [sellingWallet, ...minting];
const mintingValid = {
  network: "Preprod",
  recipientWalletAddress: null,
  sendFundingMinorUnit: "5000000",
};
const registeringValid = { ...mintingValid, sellingWalletVkey: "ab".repeat(28) };

const price = { amount: "1", unit: "" };
const fixed = (Pricing: unknown) => ({ pricingType: "Fixed", Pricing });
const example = { name: "n", mimeType: "text/plain", url: "https://example.com" };

const ledgerPrice = { asset: "", amount: "1" };
const evmPrice = { asset: `0x${"ab".repeat(20)}`, amount: "1", decimals: 6 };
const fixedSource = (one: object) => ({ pricingType: "Fixed", fixed: [one] });
const onLedger = (overrides: object = {}) => ({
  ...{ chain: "Chain", network: "Preprod", pricing: fixedSource(ledgerPrice) },
  ...overrides,
});
const onEvm = (overrides: object = {}) => ({
  ...{ chain: "EVM", network: "eip155:1", payTo: `0x${"cd".repeat(20)}` },
  ...{ pricing: fixedSource(evmPrice) },
  ...overrides,
});

const OOBI = "https://witness.example.com/oobi";
/** A credential about an agent. */
export const CREDENTIAL = {
  method: "KERI-ACDC",
  schemaVersion: "1",
  issuer: { aid: "issuer", oobi: OOBI },
  schema: { said: "schema", oobi: OOBI },
  credential: { said: "credential", oobi: OOBI, registry: "registry" },
  holder: { aid: "holder", oobi: OOBI },
  baseUrl: "https://witness.example.com",
};

const describingValid = {
  name: "An agent",
  description: "It answers",
  apiBaseUrl: "https://agent.example.com",
  image: "ipfs://image",
  Tags: ["a"],
  ExampleOutputs: [example],
  Capability: { name: "answering", version: "1" },
  Author: { name: "An author" },
  Legal: { terms: null },
  AgentPricing: fixed([price]),
};

/** Body of `POST /registry`. */
export const VALID_AGENT = { ...registeringValid, ...describingValid };

/** What an agent says of itself. */
const describing: Field[] = [
  { name: "name", required: true, refused: [long(250), ...BAD_TEXT] },
  { name: "description", refused: [long(250), ...NOT_TEXT] },
  {
    name: "apiBaseUrl",
    required: true,
    refused: ["agent", "ftp://a.example", `https://a.example/${long(250)}`, ...BAD_TEXT],
  },
  { name: "image", refused: [long(250), ...BAD_TEXT] },
  {
    name: "Tags",
    required: true,
    refused: ["a", [], [""], [long(63)], [5], Array(16).fill("a"), null],
  },
  {
    name: "ExampleOutputs",
    refused: ["a", [{}], [{ ...example, name: long(60) }], Array(26).fill(example), null],
  },
  { name: "Capability", required: true, refused: ["a", {}, { name: "a", version: "" }, null] },
  {
    name: "Author",
    required: true,
    refused: ["a", {}, { name: "" }, { name: "a", contactEmail: long(250) }, null],
  },
  { name: "Legal", refused: ["a", { terms: {} }, { other: 5 }, null] },
  {
    name: "AgentPricing",
    refused: [
      "Fixed",
      {},
      { pricingType: "fixed" },
      fixed(undefined),
      fixed([]),
      fixed(Array(6).fill(price)),
      fixed([{ ...price, amount: "0" }]),
      fixed([{ ...price, amount: 5 }]),
      fixed([{ amount: "1" }]),
      fixed([{ ...price, unit: long(120) }]),
      fixed([{ ...price, unit: "ADA" }]),
    ],
  },
  {
    name: "SupportedPaymentSources",
    refused: [
      "a",
      [],
      Array(26).fill(onLedger()),
      [onLedger({ chain: "Other" })],
      [onLedger({ network: "Testnet" })],
      [onLedger({ paymentSourceType: "Web3ChainV3" })],
      [onLedger({ address: "" })],
      [onLedger({ pricing: undefined })],
      [onLedger({ pricing: { pricingType: "Fixed", fixed: [] } })],
      [onLedger({ pricing: { pricingType: "Fixed", fixed: Array(6).fill(ledgerPrice) } })],
      [onLedger({ pricing: fixedSource({ ...ledgerPrice, amount: "9223372036854775808" }) })],
      [onLedger({ pricing: fixedSource({ ...ledgerPrice, asset: "ADA" }) })],
      [onEvm({ network: "Preprod" })],
      [onEvm({ scheme: "exact" })],
      [onEvm({ payTo: `0x${"00".repeat(20)}` })],
      [onEvm({ resource: "ftp://a.example" })],
      [onEvm({ resource: `https://a.example/${long(500)}` })],
      [onEvm({ extra: { a: true } })],
      [onEvm({ extra: { a: 0.5 } })],
      [onEvm({ extra: { a: "x".repeat(65) } })],
      [onEvm({ pricing: { pricingType: "Fixed", fixed: [evmPrice, evmPrice] } })],
      [onEvm({ pricing: fixedSource({ ...evmPrice, decimals: 256 }) })],
      [onEvm({ pricing: fixedSource({ ...evmPrice, asset: `0x${"ee".repeat(20)}` }) })],
      [onEvm({ pricing: { pricingType: "Dynamic", dynamic: [] } })],
    ],
  },
  {
    name: "Verifications",
    refused: [
      "a",
      [{}],
      Array(11).fill(CREDENTIAL),
      [{ ...CREDENTIAL, method: "" }],
      [{ ...CREDENTIAL, method: long(40) }],
      [{ ...CREDENTIAL, issuer: { aid: "a" } }],
      [{ ...CREDENTIAL, issuer: { aid: long(128), oobi: OOBI } }],
      [{ ...CREDENTIAL, baseUrl: "ftp://a.example" }],
    ],
  },
];

const deregistering = {
  valid: {
    network: "Preprod",
    agentIdentifier: "ab".repeat(60),
    smartContractAddress: "addr_test1",
  },
  fields: [network, identifier, contract],
};

const sourceFilters: Field[] = [
  { name: "network", required: true, refused: ["", "preprod"] },
  { name: "filterSmartContractAddress", refused: ["", long(250)] },
  { name: "filterPaymentSourceType", refused: ["", "Web3ChainV3"] },
];
const pageFields: Field[] = [
  { name: "limit", refused: ["0", "101", "1.5", "ten", ""] },
  { name: "cursorId", refused: ["", long(250)] },
];

const changes = (path: string): EndpointCase[] => [
  {
    method: "GET",
    path: `${path}/diff`,
    access: "User",
    valid: { network: "Preprod", limit: "100", lastUpdate: "2024-01-01" },
    fields: [
      ...sourceFilters,
      ...pageFields,
      { name: "lastUpdate", refused: ["", "yesterday", "2024-02-30", "1700000000000"] },
    ],
  },
  {
    method: "GET",
    path: `${path}/count`,
    access: "User",
    valid: { network: "Preprod" },
    fields: sourceFilters,
  },
];

const list = (path: string): EndpointCase => ({
  method: "GET",
  path,
  access: "User",
  valid: {
    network: "Preprod",
    limit: "5",
    filterState: "RegistrationFailed",
    filterStatus: "Failed",
    searchQuery: "100%",
  },
  fields: [
    ...sourceFilters,
    ...pageFields,
    { name: "filterState", refused: ["", "Registered"] },
    { name: "filterStatus", refused: ["", "registered"] },
    { name: "filterAgentIdentifier", refused: ["", long(250)] },
    { name: "searchQuery", refused: ["", long(120)] },
  ],
});

/** The tokens of a wallet, and one token. */
export const tokens = (path: string): EndpointCase[] => [
  {
    method: "GET",
    path: `${path}/wallet`,
    access: "User",
    valid: { network: "Preprod", walletVKey: "ab".repeat(28), smartContractAddress: "address" },
    fields: [
      { name: "network", required: true, refused: ["", "preprod"] },
      { name: "walletVKey", required: true, refused: ["", long(250)] },
      { name: "walletVkey", refused: ["", long(250)] },
      { name: "smartContractAddress", refused: ["", long(250)] },
    ],
    finds: 404,
  },
  {
    method: "GET",
    path: `${path}/agent-identifier`,
    access: "User",
    valid: { network: "Preprod", agentIdentifier: "AB".repeat(60) },
    fields: [
      { name: "network", required: true, refused: ["", "preprod"] },
      {
        name: "agentIdentifier",
        required: true,
        refused: ["", "ab".repeat(28), "ab".repeat(126), "xy".repeat(60), "a".repeat(61)],
      },
    ],
    finds: 404,
  },
];

const inboxAgents = (path: string): EndpointCase[] => [
  list(path),
  ...changes(path),
  ...tokens(path),
  {
    method: "POST",
    path,
    access: "+PAY",
    valid: { ...registeringValid, name: "An inbox", description: "d", agentSlug: "an-inbox" },
    fields: [
      ...registering,
      { name: "name", required: true, refused: ["  ", long(120), ...BAD_TEXT] },
      { name: "description", refused: [long(500), ...NOT_TEXT] },
      {
        name: "agentSlug",
        required: true,
        refused: ["An inbox", "-a", "a--b", "favicon-ico", long(80), ...BAD_TEXT],
      },
    ],
  },
  { method: "POST", path: `${path}/deregister`, access: "+PAY", ...deregistering },
  { method: "DELETE", path, access: "Admin", valid: { id: "some" }, fields: [id] },
];

const limit: Field = { name: "limit", refused: [0, 51, -1, 1.5, "5", null, {}] };
const cursorId: Field = { name: "cursorId", refused: ["", long(75), ...NOT_TEXT, null] };
const status = (name: string): Field => ({
  name,
  refused: ["Pending", ["pending"], [], Array(5).fill("Pending"), null],
});
const textFilter = (name: string, max: number): Field => ({
  name,
  refused: [long(max), ...BAD_TEXT],
});

/** Registering and deregistering agents and inbox agents, and the inbox registrations. */
export const REGISTRATION_ENDPOINTS: readonly EndpointCase[] = [
  list("/registry"),
  ...changes("/registry"),
  {
    method: "POST",
    path: "/registry",
    access: "+PAY",
    valid: VALID_AGENT,
    fields: [...registering, ...describing],
  },
  {
    method: "POST",
    path: "/registry/update",
    access: "+PAY",
    valid: { ...mintingValid, ...describingValid, ...deregistering.valid },
    fields: [identifier, contract, ...minting, ...describing],
  },
  { method: "POST", path: "/registry/deregister", access: "+PAY", ...deregistering },
  { method: "DELETE", path: "/registry", access: "+PAY", ...deregistering },
  ...inboxAgents("/inbox-agents"),
  ...inboxAgents("/registry-inbox"),
  {
    method: "POST",
    path: "/inbox-agent-registration-refresh",
    access: "User",
    valid: { network: "Preprod", agentIdentifier: "ab".repeat(60) },
    fields: [
      network,
      {
        name: "agentIdentifier",
        required: true,
        refused: ["ab".repeat(28), "ab".repeat(126), ...BAD_TEXT],
      },
    ],
    finds: 404,
  },
  {
    method: "POST",
    path: "/inbox-agent-registration",
    access: "User",
    valid: { network: "Preprod", limit: 50, filter: { agentSlug: "slug", status: ["Invalid"] } },
    fields: [
      network,
      limit,
      cursorId,
      { name: "filter", refused: ["a", 5, null, []] },
      textFilter("filter.agentSlug", 80),
      textFilter("filter.policyId", 250),
      status("filter.status"),
    ],
  },
  {
    method: "POST",
    path: "/inbox-agent-registration-search",
    access: "User",
    valid: { network: "Preprod", query: "part", filter: { status: ["Pending", "Verified"] } },
    fields: [
      network,
      limit,
      cursorId,
      { name: "query", required: true, refused: ["  ", long(120), ...BAD_TEXT] },
      status("filter.status"),
      textFilter("filter.policyId", 250),
    ],
  },
  {
    method: "POST",
    path: "/inbox-agent-registration-diff",
    access: "User",
    valid: { network: "Preprod", statusUpdatedAfter: "2024-01-01", agentSlug: "slug" },
    fields: [
      network,
      limit,
      cursorId,
      {
        name: "statusUpdatedAfter",
        required: true,
        refused: ["", "yesterday", "2024-02-30", 5, null],
      },
      status("status"),
      textFilter("policyId", 250),
      textFilter("agentSlug", 80),
    ],
  },
];
