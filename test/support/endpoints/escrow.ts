import { encodeBlockchainIdentifier } from "../../../src/chain/contracts/blockchain-identifier.ts";
import type { EndpointCase, Field } from "./all.ts";

const long = (length: number) => "x".repeat(length + 1);
const NOT_TEXT = [5, true, {}, ["a"]];
const BAD_TEXT = ["", ...NOT_TEXT, null];
const NOT_TIMES = ["", "tomorrow", "2027-02-30", "2027-01-01T00:00:00", 1_800_000_000_000, null];

const funds = (amount: unknown, unit: unknown = "") => [{ amount, unit }];
const time = (name: string, required?: true): Field => ({
  name,
  ...(required && { required }),
  refused: NOT_TIMES,
});

const signedTime = (name: string): Field => ({
  name,
  required: true,
  refused: ["", "0", "-1", "01798761600000", "1.5", "soon", 1_798_761_600_000, null, {}],
});

const FUNDS_REFUSED = [
  "1",
  {},
  [{}],
  [5],
  Array(8).fill({ amount: "1", unit: "" }),
  ...["", "0", "-1", "1.5", "05", "ten", "9".repeat(26), 5, null].map((one) => funds(one)),
  ...["a", "ADA", "ab".repeat(61), 5, null].map((one) => funds("1", one)),
];

/** What a quote and the purchase of it both say. */
const SHARED_FIELDS: readonly Field[] = [
  { name: "network", required: true, refused: ["preprod", "Testnet", ...BAD_TEXT] },
  {
    name: "agentIdentifier",
    required: true,
    refused: ["ab".repeat(28), "ab".repeat(126), "xy".repeat(60), "a".repeat(61), ...BAD_TEXT],
  },
  {
    name: "inputHash",
    required: true,
    refused: ["a", "AB", "xy", "ab".repeat(126), ...BAD_TEXT],
  },
  {
    name: "identifierFromPurchaser",
    required: true,
    refused: ["ab".repeat(6), "ab".repeat(14), "AB".repeat(8), "a".repeat(15), ...BAD_TEXT],
  },
  { name: "paymentSourceType", refused: ["", "Web3ChainV3", ...NOT_TEXT, null] },
  { name: "supportedPaymentSourceIndex", refused: [-1, 25, 0.5, "0", null, {}] },
  { name: "sellerReturnAddress", refused: ["", long(250), ...NOT_TEXT] },
  { name: "metadata", refused: [long(16 * 1024), "€".repeat(6_000), ...NOT_TEXT] },
];

const SHARED = {
  network: "Preprod",
  agentIdentifier: "ab".repeat(60),
  inputHash: "9f".repeat(32),
  identifierFromPurchaser: "0123456789abcdef0123",
  paymentSourceType: "Web3ChainV2",
  supportedPaymentSourceIndex: 0,
  sellerReturnAddress: null,
  metadata: "order 7",
};

/** An identifier of Web3ChainV2 of which nothing is signed. */
const IDENTIFIER = encodeBlockchainIdentifier({
  sellerId: `${"00".repeat(32)}${"ab".repeat(60)}`,
  buyerNonce: "0123456789abcdef0123",
  signature: "00",
  key: "00",
  contractAddress: "addr_test1wqvh9y2msxdze3vmqzmp0kakghmauns2qhgyqyllcsyvmjgwksgqr",
});

const PURCHASE = {
  valid: {
    ...SHARED,
    blockchainIdentifier: IDENTIFIER,
    sellerVkey: "AB".repeat(28),
    payByTime: "1798761600000",
    submitResultTime: "1798765200000",
    unlockTime: "1798768800000",
    externalDisputeUnlockTime: "1798772400000",
    Amounts: funds("10000000", "lovelace"),
    smartContractAddress: "",
    buyerReturnAddress: null,
    paymentForceLayer: null,
  },
  fields: [
    ...SHARED_FIELDS,
    { name: "blockchainIdentifier", required: true, refused: [long(8000), ...BAD_TEXT] },
    {
      name: "sellerVkey",
      required: true,
      refused: ["ab".repeat(27), "ab".repeat(29), "xy".repeat(28), ...BAD_TEXT],
    },
    signedTime("payByTime"),
    signedTime("submitResultTime"),
    signedTime("unlockTime"),
    signedTime("externalDisputeUnlockTime"),
    { name: "Amounts", refused: FUNDS_REFUSED },
    { name: "smartContractAddress", refused: [long(250), ...NOT_TEXT, null] },
    { name: "buyerReturnAddress", refused: ["", long(250), ...NOT_TEXT] },
    { name: "paymentForceLayer", refused: ["L1", "Hydra", "", 5, false] },
  ],
} satisfies Pick<EndpointCase, "valid" | "fields">;

/** What is asked of one escrow. */
function step(path: string, more: object = {}, fields: readonly Field[] = []): EndpointCase {
  return {
    method: "POST",
    path,
    access: "+PAY",
    valid: { network: "Preprod", blockchainIdentifier: IDENTIFIER, ...more },
    fields: [
      { name: "network", required: true, refused: ["preprod", "Testnet", ...BAD_TEXT] },
      { name: "blockchainIdentifier", required: true, refused: [long(8000), ...BAD_TEXT] },
      ...fields,
    ],
    finds: 404,
  };
}

const BUYER =
  "addr_test1qryczw0v4qz2x35qdvuk9vnnypgpkvlwv623nk3c6xmefvl6f9ju6lpktya0uaazv6dqgj6cf6lnqa43uvq8fduucmhstwghng";

/** What is asked of escrows. */
export const ESCROW_ENDPOINTS: readonly EndpointCase[] = [
  {
    method: "POST",
    path: "/payment",
    access: "+PAY",
    valid: {
      ...SHARED,
      payByTime: "2027-01-01T00:00:00.000Z",
      submitResultTime: "2027-01-01T01:00:00+01:00",
      unlockTime: "2027-01-02",
      externalDisputeUnlockTime: "2027-01-03",
      RequestedFunds: funds("10000000", "lovelace"),
    },
    fields: [
      ...SHARED_FIELDS,
      time("payByTime", true),
      time("submitResultTime", true),
      time("unlockTime"),
      time("externalDisputeUnlockTime"),
      { name: "RequestedFunds", refused: FUNDS_REFUSED },
    ],
    finds: 404,
  },
  { method: "POST", path: "/purchase", access: "+PAY", ...PURCHASE, finds: 404 },
  { method: "POST", path: "/purchase/verify", access: "+PAY", ...PURCHASE, finds: 404 },
  step("/purchase/cancel"),
  step("/purchase/request-refund"),
  step("/purchase/cancel-refund-request"),
  step("/purchase/withdraw-refund"),
  ...["/payment", "/purchase"].flatMap((path) => [
    step(`${path}/retry`),
    step(
      `${path}/error-state-recovery`,
      { updatedAt: "2027-01-01T00:00:00.000Z", retryPreviousAction: true },
      [
        time("updatedAt", true),
        { name: "retryPreviousAction", refused: ["", "true", 1, null, {}] },
      ],
    ),
  ]),
  step("/payment/authorize-refund"),
  step("/payment/withdraw"),
  step("/payment/submit-result", { submitResultHash: "AB".repeat(32) }, [
    {
      name: "submitResultHash",
      required: true,
      refused: ["ab".repeat(31), "ab".repeat(33), "xy".repeat(32), ...BAD_TEXT],
    },
  ]),
  ...(["/purchase", "/payment"] as const).flatMap((path): EndpointCase[] => [
    {
      method: "GET",
      path: `${path}/count`,
      access: "User",
      valid: { network: "Preprod", filterNeedsManualAction: "true" },
      fields: [
        { name: "network", required: true, refused: ["", "preprod", "Testnet"] },
        { name: "filterSmartContractAddress", refused: ["", long(250)] },
        { name: "filterPaymentSourceType", refused: ["", "Web3ChainV3"] },
        { name: "filterNeedsManualAction", refused: ["", "yes", "1", "TRUE"] },
        { name: "days", refused: ["32", "-1", "1.5", "ten", ""] },
      ],
    },
    {
      method: "POST",
      path: `${path}/resolve-blockchain-identifier`,
      access: "User",
      valid: { network: "Preprod", blockchainIdentifier: IDENTIFIER, includeHistory: "TRUE" },
      fields: [
        { name: "network", required: true, refused: ["preprod", "Testnet", ...BAD_TEXT] },
        { name: "blockchainIdentifier", required: true, refused: [long(8000), ...BAD_TEXT] },
        {
          name: "blockchainIdentifiers",
          refused: ["00", {}, null, [5], [""], Array(101).fill("00")],
        },
        { name: "filterSmartContractAddress", refused: ["", long(250), ...NOT_TEXT] },
        { name: "includeHistory", refused: ["", "yes", true, false, 1, null] },
      ],
      finds: 404,
    },
  ]),
  ...["/task", "/dispute"].map(
    (path): EndpointCase => ({
      method: "GET",
      path,
      access: "User",
      valid: { network: "Preprod", limit: "100", cursorId: "01" },
      fields: [
        { name: "network", required: true, refused: ["", "preprod", "Testnet"] },
        { name: "limit", refused: ["0", "101", "-1", "1.5", "ten", ""] },
        { name: "cursorId", refused: ["", long(250)] },
      ],
    }),
  ),
  {
    method: "POST",
    path: "/dispute/proposal",
    access: "Admin",
    valid: {
      network: "Preprod",
      blockchainIdentifier: IDENTIFIER,
      BuyerFunds: funds("0", "lovelace"),
      SellerFunds: [],
      Signers: ["ab".repeat(28)],
    },
    fields: [
      { name: "network", required: true, refused: ["preprod", "Testnet", ...BAD_TEXT] },
      { name: "blockchainIdentifier", required: true, refused: [long(8000), ...BAD_TEXT] },
      ...["BuyerFunds", "SellerFunds"].map(
        (name): Field => ({
          name,
          required: true,
          refused: ["1", {}, [{}], [5], ...["", "-1", "1.5", "05", 5].map((one) => funds(one))],
        }),
      ),
      { name: "Signers", refused: [[], {}, "ab", ["AB".repeat(28)], ["ab".repeat(27)], [5]] },
    ],
    finds: 404,
  },
  {
    method: "DELETE",
    path: "/dispute/proposal",
    access: "Admin",
    valid: { network: "Preprod", proposalId: "01" },
    fields: [
      { name: "network", required: true, refused: ["preprod", "Testnet", ...BAD_TEXT] },
      { name: "proposalId", required: true, refused: [long(250), ...BAD_TEXT] },
    ],
    finds: 404,
  },
  {
    method: "POST",
    path: "/dispute/signature",
    access: "User",
    valid: { network: "Preprod", proposalId: "01", signature: "84", key: "a4" },
    fields: [
      { name: "network", required: true, refused: ["preprod", "Testnet", ...BAD_TEXT] },
      { name: "proposalId", required: true, refused: [long(250), ...BAD_TEXT] },
      { name: "signature", required: true, refused: [long(33_000), ...BAD_TEXT] },
      { name: "key", refused: [long(2500), ...BAD_TEXT] },
    ],
    finds: 404,
  },
  {
    method: "POST",
    path: "/signature/verify/reveal-data",
    access: "User",
    valid: {
      ...{ action: "RevealData", blockchainIdentifier: IDENTIFIER, validUntil: 1 },
      ...{ walletAddress: "addr", signature: "84", key: "a4" },
    },
    fields: [
      { name: "action", required: true, refused: ["Reveal", ...BAD_TEXT] },
      { name: "blockchainIdentifier", required: true, refused: [long(8000), ...BAD_TEXT] },
      { name: "validUntil", required: true, refused: [-1, 0.5, "1", null] },
      { name: "walletAddress", required: true, refused: [long(250), ...BAD_TEXT] },
      { name: "signature", required: true, refused: [long(7500), ...BAD_TEXT] },
      { name: "key", required: true, refused: [long(2500), ...BAD_TEXT] },
    ],
    finds: 404,
  },
  ...["/payment/income", "/purchase/spending"].map(
    (path): EndpointCase => ({
      method: "POST",
      path,
      access: "User",
      valid: {
        network: "Preprod",
        agentIdentifier: "AB".repeat(60),
        startDate: "2026-01-01",
        endDate: "2027-01-01T00:00:00+01:00",
        timeZone: "Europe/Berlin",
        filterPaymentSourceType: "Web3ChainV2",
      },
      fields: [
        { name: "network", required: true, refused: ["preprod", "Testnet", ...BAD_TEXT] },
        {
          name: "agentIdentifier",
          required: true,
          refused: ["ab".repeat(28), "ab".repeat(126), "xy".repeat(60), "", ...NOT_TEXT],
        },
        { name: "startDate", refused: NOT_TIMES.slice(0, -1) },
        { name: "endDate", refused: NOT_TIMES.slice(0, -1) },
        { name: "timeZone", refused: ["Mars/Olympus", long(250), ...BAD_TEXT] },
        { name: "filterPaymentSourceType", refused: ["", "Web3ChainV3", ...NOT_TEXT, null] },
      ],
    }),
  ),
  {
    method: "POST",
    path: "/payment/x402",
    access: "+PAY",
    valid: { network: "Preprod", blockchainIdentifier: IDENTIFIER, buyerAddress: BUYER },
    fields: [
      { name: "network", required: true, refused: ["preprod", "Testnet", ...BAD_TEXT] },
      { name: "blockchainIdentifier", required: true, refused: [long(8000), ...BAD_TEXT] },
      {
        name: "buyerAddress",
        required: true,
        refused: [
          long(120),
          "addr_test1wqvh9y2msxdze3vmqzmp0kakghmauns2qhgyqyllcsyvmjgwksgqr",
          BUYER.replace("q", "p"),
          ...BAD_TEXT,
        ],
      },
    ],
    finds: 404,
  },
];
