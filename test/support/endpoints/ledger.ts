import type { EndpointCase, Field } from "./all.ts";

const long = (length: number) => "x".repeat(length + 1);
const NOT_TEXT = [5, true, null, {}, ["a"]];
const NOT_WHOLE = ["0", "101", "-1", "1.5", "ten", "", "1e1"];

const ADDRESS = "addr_test1wqvh9y2msxdze3vmqzmp0kakghmauns2qhgyqyllcsyvmjgwksgqr";
const network: Field = { name: "network", required: true, refused: ["", "preprod"] };
const address: Field = {
  name: "address",
  required: true,
  refused: ["", "address", long(150), ADDRESS.replace("q", "p"), "stake_test1uq"],
};
const token: Field = {
  name: "unit",
  required: true,
  refused: ["a", "", "lovelace", "ab".repeat(61), ...NOT_TEXT],
};

/** What lies on the chain, what it is called, and what payments need. */
export const LEDGER_ENDPOINTS: readonly EndpointCase[] = [
  {
    method: "GET",
    path: "/utxos",
    access: "User",
    valid: { address: ADDRESS, network: "Preprod", count: "5", page: "2", order: "Asc" },
    fields: [
      address,
      network,
      { name: "count", refused: NOT_WHOLE },
      { name: "page", refused: NOT_WHOLE },
      { name: "order", refused: ["", "asc", "up"] },
    ],
    finds: 404,
  },
  {
    method: "GET",
    path: "/balance",
    access: "User",
    valid: { address: ADDRESS, network: "Preprod" },
    fields: [address, network],
    finds: 404,
  },
  { method: "GET", path: "/units", access: "User", valid: {}, fields: [] },
  {
    method: "POST",
    path: "/units",
    access: "Admin",
    valid: { unit: "ab".repeat(30), ticker: "USDX", decimals: 6 },
    fields: [
      token,
      { name: "ticker", required: true, refused: ["", "a b", "x".repeat(21), "€", ...NOT_TEXT] },
      { name: "decimals", required: true, refused: [-1, 19, 0.5, "6", null, {}] },
    ],
  },
  {
    method: "DELETE",
    path: "/units",
    access: "Admin",
    valid: { unit: "ab".repeat(30) },
    fields: [token],
    finds: 404,
  },
  {
    method: "GET",
    path: "/rail-readiness",
    access: "User",
    valid: { network: "Preprod" },
    fields: [network],
  },
];
