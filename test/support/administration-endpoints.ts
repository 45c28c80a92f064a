import type { EndpointCase, Field } from "./endpoints.ts";

const long = (length: number) => "x".repeat(length + 1);
const NOT_TEXT = [5, true, null, {}, ["a"]];
const NOT_FLAG = ["true", 1, null, {}];

const limit: Field = { name: "limit", refused: ["0", "101", "-1", "1.5", "ten", "", "1e1"] };
const cursorId: Field = { name: "cursorId", refused: ["", long(250)] };
const id: Field = { name: "id", required: true, refused: ["", long(250), ...NOT_TEXT] };
const inQuery = (name: string): Field => ({ name, refused: ["", long(250)] });
const amount = (required: { required?: true }): Field => ({
  name: "thresholdAmount",
  ...required,
  refused: ["", "-1", "1.5", "ten", "0x5", "9".repeat(21), ...NOT_TEXT],
});
const NOT_TIME = ["", "yesterday", "2024-01-01T00:00:00", "2024-02-30", "1700000000000"];

const keyFields: Field[] = [
  { name: "permission", refused: ["", "admin", "Root", ...NOT_TEXT] },
  { name: "usageLimited", refused: NOT_FLAG },
  { name: "maxUsageCredits", refused: [-1, 1_000_001, 0.5, "10", null, {}] },
  { name: "canPay", refused: NOT_FLAG },
  {
    name: "networkLimit",
    refused: ["Preprod", null, {}, [5], ["Testnet"], ["eip155:"], Array(51).fill("Preprod")],
  },
];

/** Endpoints for operators: API keys, the audit log, wallets, and what is public of the sources. */
export const ADMINISTRATION_ENDPOINTS: readonly EndpointCase[] = [
  {
    method: "POST",
    path: "/api-key",
    access: "Admin",
    valid: { permission: "User", usageLimited: true, maxUsageCredits: 10, canPay: true },
    fields: keyFields,
  },
  {
    method: "GET",
    path: "/api-key",
    access: "Admin",
    valid: { limit: "5", cursorId: "a" },
    fields: [limit, cursorId],
  },
  {
    method: "PATCH",
    path: "/api-key",
    access: "Admin",
    valid: { id: "key", status: "Active" },
    fields: [id, { name: "status", refused: ["", "Deleted", ...NOT_TEXT] }, ...keyFields],
  },
  { method: "DELETE", path: "/api-key", access: "Admin", valid: { id: "key" }, fields: [id] },
  { method: "GET", path: "/api-key-status", access: "User", valid: {}, fields: [] },
  {
    method: "GET",
    path: "/audit",
    access: "Admin",
    valid: { limit: "5", apiKeyId: "env-admin", action: "api-key.create", after: "2024-01-01" },
    fields: [
      limit,
      cursorId,
      inQuery("apiKeyId"),
      inQuery("action"),
      { name: "after", refused: NOT_TIME },
      { name: "before", refused: NOT_TIME },
    ],
  },
  {
    method: "DELETE",
    path: "/payment-source-extended",
    access: "Admin",
    valid: { id: "source" },
    fields: [id],
  },
  {
    method: "GET",
    path: "/payment-source",
    access: "User",
    valid: { limit: "5", network: "Preprod" },
    fields: [limit, cursorId, { name: "network", refused: ["", "preprod"] }],
  },
  {
    method: "GET",
    path: "/wallet/list",
    access: "Admin",
    valid: { limit: "5", walletType: "Selling" },
    fields: [
      limit,
      cursorId,
      { name: "walletType", refused: ["", "selling", "Funding"] },
      inQuery("paymentSourceId"),
      inQuery("walletVkey"),
      inQuery("walletAddress"),
    ],
  },
  {
    method: "POST",
    path: "/wallet",
    access: "Admin",
    valid: { network: "Preprod" },
    fields: [{ name: "network", required: true, refused: ["", "preprod", "Testnet", ...NOT_TEXT] }],
  },
  {
    method: "PATCH",
    path: "/wallet",
    access: "Admin",
    valid: { id: "wallet", collectionAddress: null },
    fields: [
      id,
      { name: "collectionAddress", refused: ["", long(250), 5, {}] },
      { name: "note", refused: [long(250), ...NOT_TEXT] },
    ],
  },
  {
    method: "GET",
    path: "/wallet/low-balance",
    access: "Admin",
    valid: { limit: "5", walletId: "wallet" },
    fields: [limit, cursorId, inQuery("walletId")],
  },
  {
    method: "POST",
    path: "/wallet/low-balance",
    access: "Admin",
    valid: { walletId: "wallet", unit: "", thresholdAmount: "5000000", enabled: true },
    fields: [
      { ...id, name: "walletId" },
      { name: "unit", refused: ["lovelace", "ab".repeat(27), "ab".repeat(61), ...NOT_TEXT] },
      amount({ required: true }),
      { name: "enabled", refused: NOT_FLAG },
    ],
  },
  {
    method: "PATCH",
    path: "/wallet/low-balance",
    access: "Admin",
    valid: { id: "rule", enabled: false },
    fields: [id, amount({}), { name: "enabled", refused: NOT_FLAG }],
  },
  {
    method: "DELETE",
    path: "/wallet/low-balance",
    access: "Admin",
    valid: { id: "rule" },
    fields: [id],
  },
];
