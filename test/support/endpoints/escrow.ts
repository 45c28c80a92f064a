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

/** What is asked of escrows. */
export const ESCROW_ENDPOINTS: readonly EndpointCase[] = [
  {
    method: "POST",
    path: "/payment",
    access: "+PAY",
    valid: {
      network: "Preprod",
      agentIdentifier: "ab".repeat(60),
      inputHash: "9f".repeat(32),
      identifierFromPurchaser: "0123456789abcdef0123",
      payByTime: "2027-01-01T00:00:00.000Z",
      submitResultTime: "2027-01-01T01:00:00+01:00",
      unlockTime: "2027-01-02",
      externalDisputeUnlockTime: "2027-01-03",
      RequestedFunds: funds("10000000", "lovelace"),
      paymentSourceType: "Web3ChainV2",
      supportedPaymentSourceIndex: 0,
      sellerReturnAddress: null,
      metadata: "order 7",
    },
    fields: [
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
      time("payByTime", true),
      time("submitResultTime", true),
      time("unlockTime"),
      time("externalDisputeUnlockTime"),
      {
        name: "RequestedFunds",
        refused: [
          "1",
          {},
          [{}],
          [5],
          Array(8).fill({ amount: "1", unit: "" }),
          ...["", "0", "-1", "1.5", "05", "ten", "9".repeat(26), 5, null].map((one) => funds(one)),
          ...["a", "ADA", "AB".repeat(30), "ab".repeat(61), 5, null].map((one) => funds("1", one)),
        ],
      },
      { name: "paymentSourceType", refused: ["", "Web3ChainV3", ...NOT_TEXT, null] },
      { name: "supportedPaymentSourceIndex", refused: [-1, 25, 0.5, "0", null, {}] },
      { name: "sellerReturnAddress", refused: ["", long(250), ...NOT_TEXT] },
      { name: "metadata", refused: [long(16 * 1024), "€".repeat(6_000), ...NOT_TEXT] },
    ],
    finds: 404,
  },
];
