import type { EndpointCase, Field } from "./all.ts";

const long = (length: number) => "x".repeat(length + 1);
const NOT_TEXT = [5, true, null, {}, ["a"]];
const NOT_A_NUMBER = ["1", true, null, {}];
const NOT_A_MONTH = ["", "2025", "2025-00", "2025-13", "2025-9", "2025-09-01", "25-09"];
const VKEY = "ab".repeat(28);
const NOT_A_KEY_HASH = ["", VKEY.slice(2), `${VKEY}ab`, "xy".repeat(28)];
const PARTY = {
  country: "DE",
  city: "Berlin",
  zipCode: "10115",
  street: "Weg",
  streetNumber: "2",
  companyName: "Agents GmbH",
};

const network: Field = { name: "network", required: true, refused: ["", "preprod", "Testnet"] };
const monthOf = (more: readonly unknown[]): Field => ({
  name: "month",
  required: true,
  refused: [...NOT_A_MONTH, ...more],
});
const limit: Field = { name: "limit", refused: ["0", "101", "-1", "1.5", "ten", ""] };
const cursorId: Field = { name: "cursorId", refused: ["", long(250)] };

const party = (name: "Seller" | "Buyer"): Field[] => [
  { name, required: true, refused: ["Bob", 5, null, [], { ...PARTY, companyName: " " }] },
  ...(["country", "city", "street"] as const).map((member) => ({
    name: `${name}.${member}`,
    required: true as const,
    refused: ["", " \u00a0", long(100), ...NOT_TEXT],
  })),
  ...(["zipCode", "streetNumber"] as const).map((member) => ({
    name: `${name}.${member}`,
    required: true as const,
    refused: ["", " \u00a0", long(20), ...NOT_TEXT],
  })),
  { name: `${name}.email`, refused: ["bob", "bob@", " bob", long(100), 5, {}] },
  ...["phone", "name", "companyName", "vatNumber"].map((member) => ({
    name: `${name}.${member}`,
    refused: [long(100), 5, {}],
  })),
];

const texts: Field[] = [
  { name: "Invoice", refused: ["text", 5, null, []] },
  ...["itemNamePrefix", "title", "idPrefix", "buyerReference"].map((member) => ({
    name: `Invoice.${member}`,
    refused: [long(100), ...NOT_TEXT],
  })),
  { name: "Invoice.itemNameSuffix", refused: [long(100), ...NOT_TEXT] },
  ...["description", "greeting", "closing", "signature", "footer", "terms", "privacy"].map(
    (member) => ({ name: `Invoice.${member}`, refused: [long(1000), ...NOT_TEXT] }),
  ),
  { name: "Invoice.logo", refused: ["", long(1000), ...NOT_TEXT] },
  {
    name: "Invoice.date",
    refused: ["", "today", "2025-02-30", "2025-9-1", "0000-01-01", ...NOT_TEXT],
  },
  ...["language", "localizationFormat"].map((member) => ({
    name: `Invoice.${member}`,
    refused: ["", "fr", "DE", ...NOT_TEXT],
  })),
];

const billing: Field[] = [
  { name: "buyerWalletVkey", required: true, refused: [...NOT_A_KEY_HASH, ...NOT_TEXT] },
  { name: "sellerWalletVkey", refused: [...NOT_A_KEY_HASH, ...NOT_TEXT] },
  monthOf(NOT_TEXT),
  { name: "invoiceCurrency", required: true, refused: ["", "EURO", "btc", ...NOT_TEXT] },
  {
    name: "CurrencyConversion",
    refused: [
      "0.5",
      5,
      null,
      { "": 0 },
      { "": -1 },
      { "": 9e-31 },
      { "": "1" },
      { ada: 1 },
      { "": 1, LOVELACE: 1 },
      { [long(250)]: 1 },
    ],
  },
  {
    name: "decimals",
    refused: ["6", 6, null, { "": -1 }, { "": 1.5 }, { "": 31 }, { "": "6" }, { [long(250)]: 1 }],
  },
  { name: "confirmRate", refused: ["true", 1, null, {}] },
  ...texts,
  { name: "vatRate", refused: [-0.1, 1.1, 0.12345678, ...NOT_A_NUMBER] },
  { name: "reverseCharge", refused: ["true", 1, null, {}] },
  { name: "forceRegenerate", refused: ["true", 1, null, {}] },
  ...party("Seller"),
  ...party("Buyer"),
];

const billed = {
  buyerWalletVkey: VKEY,
  sellerWalletVkey: VKEY,
  month: "2025-09",
  invoiceCurrency: "eur",
  CurrencyConversion: { "": 0.5 },
  decimals: { "": 6 },
  confirmRate: false,
  Invoice: { title: "Invoice", language: "de" },
  vatRate: 0,
  reverseCharge: false,
  forceRegenerate: false,
  Seller: PARTY,
  Buyer: PARTY,
};

/** `/invoice` of the interface. */
export const INVOICE_ENDPOINTS: readonly EndpointCase[] = [
  {
    method: "POST",
    path: "/invoice/monthly",
    access: "+PAY",
    valid: {
      ...billed,
      signature: "00",
      key: "00",
      walletAddress: "address",
      validUntil: 1,
      action: "RetrieveMonthlyInvoices",
    },
    fields: [
      { name: "signature", required: true, refused: ["", long(2000), ...NOT_TEXT] },
      { name: "key", required: true, refused: ["", long(2000), ...NOT_TEXT] },
      { name: "walletAddress", required: true, refused: ["", long(500), ...NOT_TEXT] },
      { name: "validUntil", required: true, refused: [-1, 0.5, ...NOT_A_NUMBER] },
      { name: "action", required: true, refused: ["", "Retrieve", ...NOT_TEXT] },
      ...billing,
    ],
  },
  {
    method: "POST",
    path: "/invoice/monthly/internal",
    access: "Admin",
    valid: { network: "Preprod", ...billed },
    fields: [{ ...network, refused: [...network.refused, ...NOT_TEXT] }, ...billing],
  },
  {
    method: "GET",
    path: "/invoice/monthly",
    access: "+PAY",
    valid: { network: "Preprod", month: "2025-09", limit: "5", includePdf: "true" },
    fields: [
      network,
      monthOf([]),
      limit,
      cursorId,
      { name: "invoiceBaseId", refused: ["", long(250)] },
      { name: "includePdf", refused: ["", "yes", "1"] },
    ],
  },
  {
    method: "GET",
    path: "/invoice/monthly/missing",
    access: "+PAY",
    valid: { network: "Preprod", month: "2025-09", buyerWalletVkey: VKEY },
    fields: [
      network,
      monthOf([]),
      limit,
      cursorId,
      { name: "buyerWalletVkey", refused: NOT_A_KEY_HASH },
    ],
  },
  {
    method: "GET",
    path: "/invoice/rates",
    access: "Admin",
    valid: { month: "2025-09", currency: "eur", limit: "10" },
    fields: [monthOf([]), limit, { name: "currency", refused: ["", "EURO", "btc"] }],
  },
  {
    method: "POST",
    path: "/invoice/rates",
    access: "Admin",
    valid: { unit: "", currency: "eur", month: "2025-09", rate: 0.5, source: "House rate" },
    fields: [
      { name: "unit", required: true, refused: [long(250), "ADA", ...NOT_TEXT] },
      { name: "currency", required: true, refused: ["", "EURO", ...NOT_TEXT] },
      monthOf(NOT_TEXT),
      {
        name: "rate",
        required: true,
        refused: [0, -1, 9e-31, "", "0", "1,5", "-1", true, null, {}],
      },
      { name: "decimals", refused: [-1, 1.5, 31, ...NOT_A_NUMBER] },
      { name: "confirmRate", refused: ["true", 1, null, {}] },
      { name: "source", required: true, refused: ["", long(100), ...NOT_TEXT] },
    ],
  },
];
