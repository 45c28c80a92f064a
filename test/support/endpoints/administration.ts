import { formatAddress } from "../../../src/chain/address.ts";
import type { EndpointCase, Field } from "./all.ts";

const long = (length: number) => "x".repeat(length + 1);
const NOT_TEXT = [5, true, null, {}, ["a"]];
const NOT_FLAG = ["true", 1, null, {}];

const WALLET = formatAddress({
  network: "Preprod",
  payment: { kind: "key", hash: "ab".repeat(28) },
  stake: null,
});
const token = (overrides: object = {}) => {
  return { unit: "ab".repeat(28), quantity: "1", ...overrides };
};

const limit: Field = { name: "limit", refused: ["0", "101", "-1", "1.5", "ten", "", "1e1"] };
const cursorId: Field = { name: "cursorId", refused: ["", long(250)] };
const id: Field = { name: "id", required: true, refused: ["", long(250), ...NOT_TEXT] };
const inQuery = (name: string): Field => ({ name, refused: ["", long(250)] });
export const drives: Field = { name: "drives", refused: ["", "All", ...NOT_TEXT] };
const NOT_AMOUNT = ["", "-1", "1.5", "ten", "0x5", "9".repeat(21), ...NOT_TEXT];
const amount = (name: string, required: { required?: true } = {}): Field => ({
  name,
  ...required,
  refused: NOT_AMOUNT,
});
const NOT_TIME = ["", "yesterday", "2024-01-01T00:00:00", "2024-02-30", "1700000000000"];

const keyFields: Field[] = [
  { name: "name", refused: ["x".repeat(101), ...NOT_TEXT] },
  { name: "permission", refused: ["", "admin", "Root", ...NOT_TEXT] },
  { name: "usageLimited", refused: NOT_FLAG },
  { name: "maxUsageCredits", refused: [-1, 1_000_001, 0.5, "10", null, {}] },
  { name: "canPay", refused: NOT_FLAG },
  {
    name: "networkLimit",
    refused: ["Preprod", null, {}, [5], ["Testnet"], ["eip155:"], Array(51).fill("Preprod")],
  },
  { name: "walletLimit", refused: ["wallet", {}, [5], [""], Array(101).fill("wallet")] },
  {
    name: "spendingLimits",
    refused: [
      "1",
      {},
      [5],
      [{}],
      ...[{ amount: "1.5" }, { amount: 1 }, { unit: "ADA" }, { network: "Testnet" }].map((one) => [
        { network: "Preprod", unit: "", amount: "1", ...one },
      ]),
      Array(51).fill({ network: "Preprod", unit: "", amount: "1" }),
    ],
  },
  {
    name: "returnAddresses",
    refused: ["address", {}, null, [5], ["address"], Array(21).fill(WALLET)],
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
    fields: [
      id,
      { name: "status", refused: ["", "Deleted", ...NOT_TEXT] },
      { name: "newToken", refused: ["x".repeat(14), "x".repeat(257), ...NOT_TEXT] },
      {
        name: "spendingLimitChanges",
        refused: ["1", null, {}, [5], [{}], [{ network: "Preprod", unit: "", amount: "1.5" }]],
      },
      ...keyFields,
    ],
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
    method: "POST",
    path: "/erasure",
    access: "Admin",
    valid: { apiKeyId: "key" },
    fields: [{ ...id, name: "apiKeyId" }],
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
    fields: [
      limit,
      { ...limit, name: "take" },
      cursorId,
      { name: "network", refused: ["", "preprod"] },
    ],
  },
  {
    method: "GET",
    path: "/wallet/list",
    access: "+PAY",
    valid: { limit: "5", walletType: "Selling" },
    fields: [
      limit,
      { ...limit, name: "take" },
      cursorId,
      { name: "walletType", refused: ["", "selling", "Treasury"] },
      inQuery("id"),
      inQuery("paymentSourceId"),
      inQuery("walletVkey"),
      inQuery("walletAddress"),
    ],
  },
  {
    method: "GET",
    path: "/wallet",
    access: "Admin",
    valid: { id: "wallet", walletType: "Selling", includeSecret: "false" },
    fields: [
      { ...inQuery("id"), required: true },
      { name: "walletType", refused: ["", "selling", "Treasury"] },
      { name: "includeSecret", refused: ["", "yes", "1"] },
    ],
    finds: 404,
  },
  {
    method: "GET",
    path: "/wallet/transaction",
    access: "Admin",
    valid: { limit: "5", network: "Preprod", state: "Sent", from: "2026-11-22", to: "2026-11-23" },
    fields: [
      limit,
      cursorId,
      { name: "network", required: true, refused: ["", "preprod"] },
      { name: "state", refused: ["", "sent"] },
      { name: "from", refused: NOT_TIME },
      { name: "to", refused: NOT_TIME },
      inQuery("walletVkey"),
    ],
  },
  {
    method: "GET",
    path: "/wallet/transfer-funds",
    access: "Admin",
    valid: { limit: "5", network: "Preprod", hotWalletId: "wallet" },
    fields: [
      limit,
      cursorId,
      { name: "network", refused: ["", "preprod"] },
      inQuery("id"),
      inQuery("hotWalletId"),
      inQuery("walletAddress"),
    ],
  },
  {
    method: "POST",
    path: "/wallet/transfer-funds",
    access: "Admin",
    valid: {
      fromWalletAddress: WALLET,
      toAddress: WALLET,
      minorUnitAmount: "2000000",
      assets: [{ unit: "ab".repeat(28), quantity: "1" }],
    },
    fields: [
      { ...id, name: "fromWalletAddress" },
      { ...id, name: "toAddress" },
      {
        name: "minorUnitAmount",
        required: true,
        refused: ["", "0", "1999999", "02000000", "-1", "1.5", "1e9", "9".repeat(21), ...NOT_TEXT],
      },
      {
        name: "assets",
        refused: [
          "token",
          5,
          null,
          {},
          [{}],
          Array.from({ length: 11 }, (_, i) => token({ unit: `${10 + i}`.repeat(28) })),
          [token(), token()],
          [token({ unit: "AB".repeat(28) }), token()],
          ...["", "lovelace", "ab".repeat(27), "ab".repeat(61), `${"ab".repeat(28)}a`, 5].map(
            (unit) => [token({ unit })],
          ),
          ...["", "0", "01", "-1", "1.5", "9".repeat(21), 5].map((quantity) => [
            token({ quantity }),
          ]),
        ],
      },
    ],
    finds: 404,
  },
  {
    method: "GET",
    path: "/wallet/top-up",
    access: "Admin",
    valid: { limit: "5", walletId: "wallet" },
    fields: [limit, cursorId, inQuery("walletId")],
  },
  {
    method: "POST",
    path: "/wallet/top-up",
    access: "Admin",
    valid: { walletId: "wallet", unit: "", below: "1", upTo: "2000001", perDay: null },
    fields: [
      { ...id, name: "walletId" },
      { name: "unit", refused: ["coin", "ab".repeat(27), "ab".repeat(61), ...NOT_TEXT] },
      amount("below", { required: true }),
      amount("upTo", { required: true }),
      { name: "perDay", refused: NOT_AMOUNT.filter((value) => value !== null) },
      { name: "enabled", refused: NOT_FLAG },
    ],
  },
  {
    method: "PATCH",
    path: "/wallet/top-up",
    access: "Admin",
    valid: { id: "rule", upTo: "5000000" },
    fields: [
      id,
      amount("below"),
      amount("upTo"),
      { name: "perDay", refused: NOT_AMOUNT.filter((value) => value !== null) },
      { name: "enabled", refused: NOT_FLAG },
    ],
  },
  {
    method: "DELETE",
    path: "/wallet/top-up",
    access: "Admin",
    valid: { id: "rule" },
    fields: [id],
  },
  {
    method: "POST",
    path: "/wallet",
    access: "Admin",
    valid: { network: "Preprod" },
    fields: [
      { name: "network", required: true, refused: ["", "preprod", "Testnet", ...NOT_TEXT] },
      { name: "paymentSourceId", refused: ["", long(250), ...NOT_TEXT] },
      { name: "walletType", refused: ["", "selling", ...NOT_TEXT] },
      { name: "walletMnemonic", refused: ["", "not a mnemonic", long(1500), ...NOT_TEXT] },
      { name: "note", refused: [long(250), ...NOT_TEXT] },
      { name: "collectionAddress", refused: ["", long(250), 5, {}] },
      drives,
    ],
  },
  {
    method: "PATCH",
    path: "/wallet",
    access: "Admin",
    valid: { id: "wallet", collectionAddress: null },
    fields: [
      id,
      { name: "collectionAddress", refused: ["", long(250), 5, {}] },
      { name: "newCollectionAddress", refused: ["", long(250), 5, {}] },
      { name: "note", refused: [long(250), ...NOT_TEXT] },
      drives,
    ],
  },
  {
    method: "DELETE",
    path: "/wallet",
    access: "Admin",
    valid: { id: "wallet" },
    fields: [id],
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
      { name: "unit", refused: ["coin", "ab".repeat(27), "ab".repeat(61), ...NOT_TEXT] },
      amount("thresholdAmount", { required: true }),
      { name: "enabled", refused: NOT_FLAG },
    ],
  },
  {
    method: "PATCH",
    path: "/wallet/low-balance",
    access: "Admin",
    valid: { id: "rule", enabled: false },
    fields: [id, amount("thresholdAmount"), { name: "enabled", refused: NOT_FLAG }],
  },
  {
    method: "DELETE",
    path: "/wallet/low-balance",
    access: "Admin",
    valid: { id: "rule" },
    fields: [id],
  },
];
