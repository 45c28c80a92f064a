import type { EndpointCase, Field } from "./all.ts";
import { tokens } from "./registrations.ts";

const long = (length: number) => "x".repeat(length + 1);
const NOT_TEXT = [5, true, null, {}, ["a"]];

const network: Field = {
  name: "network",
  required: true,
  refused: ["", "preprod", "Testnet", ...NOT_TEXT],
};
const limit: Field = { name: "limit", refused: [0, 51, -1, 1.5, "5", null, {}] };
const queryLimit: Field = { name: "limit", refused: ["0", "101", "-1", "1.5", "ten", "", "0x5"] };
const cursorId: Field = { name: "cursorId", refused: ["", long(75), ...NOT_TEXT] };
const time = (name: string, required: { required?: true } = {}): Field => ({
  name,
  ...required,
  refused: ["", "yesterday", "2024-01-01T00:00:00", "2024-02-30", 5, null, {}],
});

const listFields: Field[] = [
  network,
  limit,
  cursorId,
  time("minHealthCheckDate"),
  { name: "filter", refused: ["a", 5, null, []] },
  { name: "filter.paymentTypes", refused: ["None", ["Card"], Array(6).fill("None")] },
  { name: "filter.status", refused: ["Online", ["online"], Array(6).fill("Online")] },
  { name: "filter.policyId", refused: ["", long(250), ...NOT_TEXT] },
  { name: "filter.assetIdentifier", refused: ["", long(250), ...NOT_TEXT] },
  { name: "filter.tags", refused: ["tag", [""], [long(150)], [5], Array(51).fill("tag")] },
  {
    name: "filter.capability",
    refused: ["a", {}, { name: "" }, { name: long(150) }, { name: "a", version: 5 }],
  },
];
const listValid = {
  network: "Preprod",
  limit: 50,
  minHealthCheckDate: "2024-01-01",
  filter: {
    paymentTypes: ["Web3ChainV1"],
    status: ["Online", "Invalid"],
    policyId: "ab".repeat(28),
    assetIdentifier: "ab".repeat(60),
    tags: ["tag"],
    capability: { name: "answering", version: "1" },
  },
};

const providerKey = ["", long(250), "two words", "line\nbreak", ...NOT_TEXT];
const id: Field = { name: "id", required: true, refused: ["", long(250), ...NOT_TEXT] };

/** The registry's endpoints. */
export const REGISTRY_ENDPOINTS: readonly EndpointCase[] = [
  {
    method: "POST",
    path: "/registry-diff",
    access: "User",
    valid: { network: "Preprod", statusUpdatedAfter: "2024-01-01T00:00:00Z", limit: 50 },
    fields: [network, limit, cursorId, time("statusUpdatedAfter", { required: true })],
  },
  {
    method: "GET",
    path: "/payment-information",
    access: "User",
    valid: { agentIdentifier: "ab".repeat(60) },
    fields: [{ name: "agentIdentifier", required: true, refused: ["", long(55), long(250)] }],
    finds: 404,
  },
  ...tokens("/registry"),
  {
    method: "POST",
    path: "/registry-entry",
    access: "User",
    valid: listValid,
    fields: listFields,
  },
  {
    method: "POST",
    path: "/registry-entry-search",
    access: "User",
    valid: { ...listValid, query: "answers" },
    fields: [
      ...listFields,
      { name: "query", required: true, refused: ["", "  ", long(120), ...NOT_TEXT] },
    ],
  },
  {
    method: "GET",
    path: "/capability",
    access: "User",
    valid: { network: "Preprod", limit: "5" },
    fields: [
      { name: "network", required: true, refused: ["", "preprod"] },
      queryLimit,
      { name: "cursorId", refused: ["", long(250)] },
    ],
  },
  {
    method: "GET",
    path: "/registry-source",
    access: "Admin",
    valid: { limit: "5" },
    fields: [queryLimit, { name: "cursorId", refused: ["", long(250)] }],
  },
  {
    method: "POST",
    path: "/registry-source",
    access: "Admin",
    valid: {
      network: "Preprod",
      policyId: "ab".repeat(28),
      url: "https://registry.example.com",
      note: "",
      rpcProviderApiKey: "key",
    },
    fields: [
      network,
      {
        name: "policyId",
        required: true,
        refused: ["", "ab".repeat(27), "ab".repeat(29), "xy".repeat(28), ...NOT_TEXT],
      },
      { name: "url", refused: ["", "no url", `https://${long(250)}`, 5, {}] },
      { name: "note", refused: [long(250), 5, {}] },
      { name: "rpcProviderApiKey", required: true, refused: providerKey },
    ],
  },
  {
    method: "PATCH",
    path: "/registry-source",
    access: "Admin",
    valid: { id: "source" },
    fields: [
      id,
      { name: "note", refused: [long(250), 5, {}] },
      { name: "rpcProviderApiKey", refused: providerKey },
    ],
  },
  { method: "DELETE", path: "/registry-source", access: "Admin", valid: { id: "a" }, fields: [id] },
];
