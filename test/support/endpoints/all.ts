import { formatAddress } from "../../../src/chain/address.ts";
import { ADMINISTRATION_ENDPOINTS, drives } from "./administration.ts";
import { ESCROW_ENDPOINTS } from "./escrow.ts";
import { INVOICE_ENDPOINTS } from "./invoices.ts";
import { LEDGER_ENDPOINTS } from "./ledger.ts";
import { OPERATION_ENDPOINTS } from "./operation.ts";
import { REFERENCE_SCRIPT_ENDPOINTS } from "./reference-scripts.ts";
import { REGISTRATION_ENDPOINTS } from "./registrations.ts";
import { REGISTRY_ENDPOINTS } from "./registry.ts";
import { WEBHOOK_ENDPOINTS } from "./webhooks.ts";
import { X402_ENDPOINTS } from "./x402.ts";

/** A field of an endpoint: values that are refused with 400, and whether it may be left out. */
export interface Field {
  /** Path in the body, such as `PaymentSourceConfig.rpcProvider`, or name in the query. */
  name: string;
  required?: true;
  /** Not of its type, or out of its bounds. */
  refused: readonly unknown[];
}

/** An endpoint as its callers see it. */
export interface EndpointCase {
  method: "GET" | "POST" | "PATCH" | "DELETE";
  path: string;
  access: "none" | "User" | "+PAY" | "Admin";
  /** A request whose fields are all present and well-formed: query of a GET, else the body. */
  valid: Record<string, unknown>;
  fields: readonly Field[];
  /** What a valid request for one object answers while there is none; 200 otherwise. */
  finds?: 404;
  /** Answers with the data alone. */
  isPlain?: true;
  /** Answers a success with text that is no JSON. */
  isText?: true;
}

const long = (length: number) => "x".repeat(length + 1);
const NOT_TEXT = [5, true, null, {}, ["a"]];
const NOT_WHOLE_IN_QUERY = ["1.5", "ten", "", "1e1", "0x5"];

const limit: Field = { name: "limit", refused: ["0", "101", "-1", ...NOT_WHOLE_IN_QUERY] };
const cursorId: Field = { name: "cursorId", refused: ["", long(250)] };
const network: Field = { name: "network", required: true, refused: ["", "preprod", "Testnet"] };
const sourceFilters: Field[] = [
  { name: "filterSmartContractAddress", refused: ["", long(250)] },
  { name: "filterPaymentSourceType", refused: ["", "Web3ChainV3"] },
  { name: "includeHistory", refused: ["", "yes", "1", "TRUE"] },
];

function diff(path: string): EndpointCase {
  return {
    method: "GET",
    path,
    access: "User",
    valid: { network: "Preprod", limit: "100", lastUpdate: "2024-01-01", includeHistory: "true" },
    fields: [
      limit,
      cursorId,
      network,
      ...sourceFilters,
      {
        name: "lastUpdate",
        refused: ["", "yesterday", "2024-01-01T00:00:00", "2024-02-30", "1700000000000"],
      },
    ],
  };
}

function list(path: string): EndpointCase {
  return {
    method: "GET",
    path,
    access: "User",
    valid: { network: "Mainnet", limit: "1", filterOnChainState: "Disputed" },
    fields: [
      limit,
      cursorId,
      network,
      ...sourceFilters,
      { name: "id", refused: ["", long(250)] },
      { name: "blockchainIdentifier", refused: ["", long(8000)] },
      { name: "filterOnChainState", refused: ["", "Locked"] },
      { name: "filterAgentIdentifier", refused: ["", "a", "agent", "ab".repeat(126)] },
      { name: "filterNeedsManualAction", refused: ["", "yes", "1", "TRUE"] },
      { name: "searchQuery", refused: ["", long(250)] },
      { name: "filterUnit", refused: ["coin", "ab", "AB".repeat(27)] },
      { name: "filterAmountFrom", refused: ["", "-1", "1.5", "1e3", "1".repeat(19)] },
      { name: "filterAmountTo", refused: ["", "ten"] },
      { name: "filterDeadlineFrom", refused: ["", "soon", "1700000000000"] },
      { name: "filterDeadlineTo", refused: ["", "2024-02-30"] },
    ],
  };
}

/** The same as CSV. */
function csv(path: string): EndpointCase {
  const { fields, ...same } = list(path);
  const own = fields.filter(({ name }) => name !== "includeHistory" && name !== "limit");
  const limit: Field = { name: "limit", refused: ["0", "2001", "-1", ...NOT_WHOLE_IN_QUERY] };
  return { ...same, fields: [limit, ...own], isText: true };
}

const CONTRACT = formatAddress({
  network: "Preprod",
  payment: { kind: "script", hash: "ab".repeat(28) },
  stake: null,
});

const providerConfig = (prefix: string, required: { required?: true }): Field[] => [
  { name: prefix, ...required, refused: ["key", 5, null, [], ...(required.required ? [{}] : [])] },
  {
    name: `${prefix}.rpcProviderApiKey`,
    ...required,
    refused: ["", long(250), "two words", "line\nbreak", ...NOT_TEXT],
  },
  {
    name: `${prefix}.rpcProvider`,
    ...required,
    refused: ["", "blockfrost", "Other", ...NOT_TEXT],
  },
];

const furtherProviders: Field = {
  name: "RpcProviders",
  refused: [
    "Blockfrost",
    {},
    null,
    [{}],
    [{ rpcProvider: "Koios" }],
    [{ rpcProvider: "Ogmios", url: "" }],
    [{ rpcProvider: "Blockfrost", rpcProviderApiKey: "two words" }],
    [{ rpcProvider: "Blockfrost", use: [] }],
    [{ rpcProvider: "Blockfrost", use: ["write"] }],
    Array(6).fill({ rpcProvider: "Blockfrost", rpcProviderApiKey: "key" }),
  ],
};

const newWallets = (name: string, max: number): Field[] => [
  {
    name,
    refused: [
      "wallet",
      {},
      null,
      [5],
      Array(max + 1).fill({ walletMnemonic: "word" }),
      [{}],
      [{ walletMnemonic: 5 }],
      [{ walletMnemonic: "" }],
      [{ walletMnemonic: long(1500) }],
      [{ walletMnemonic: "not a mnemonic" }],
      [{ walletMnemonic: "word", note: long(250) }],
      [{ walletMnemonic: "word", note: 5 }],
      [{ walletMnemonic: "word", collectionAddress: 5 }],
      [{ walletMnemonic: "word", drives: "some" }],
      [{ walletMnemonic: "word", collectionAddress: long(250) }],
    ],
  },
];

const removals = (name: string): Field => ({
  name,
  refused: [
    "id",
    {},
    null,
    ["id"],
    [{}],
    [{ id: "" }],
    [{ id: long(250) }],
    Array(11).fill({ id: "a" }),
  ],
});

/** Every endpoint that the service serves. */
export const ENDPOINTS: readonly EndpointCase[] = [
  ...OPERATION_ENDPOINTS,
  diff("/purchase/diff/onchain-state-or-result"),
  diff("/purchase/diff/next-action"),
  diff("/purchase/diff"),
  list("/purchase"),
  csv("/purchase/csv"),
  diff("/payment/diff/onchain-state-or-result"),
  diff("/payment/diff/next-action"),
  diff("/payment/diff"),
  list("/payment"),
  csv("/payment/csv"),
  {
    method: "GET",
    path: "/payment-source-extended",
    access: "Admin",
    valid: { limit: "5", network: "Preprod" },
    fields: [limit, cursorId, { name: "network", refused: ["", "preprod"] }],
  },
  {
    method: "POST",
    path: "/payment-source-extended",
    access: "Admin",
    valid: {
      network: "Preprod",
      paymentSourceType: "Web3ChainV2",
      smartContractAddress: CONTRACT,
      policyId: "ab".repeat(28),
      PaymentSourceConfig: { rpcProviderApiKey: "key", rpcProvider: "Blockfrost" },
      AdminWallets: [{ walletAddress: CONTRACT }],
      feeRatePermille: 50,
      FeeReceiverNetworkWallet: { walletAddress: CONTRACT },
      requiredAdminSignatures: 1,
      cooldownTime: 1000,
      lastIdentifierChecked: null,
      PurchasingWallets: [],
      SellingWallets: [],
    },
    fields: [
      { ...network, refused: [...network.refused, ...NOT_TEXT] },
      { name: "paymentSourceType", refused: ["", "Web3ChainV3", ...NOT_TEXT] },
      {
        name: "smartContractAddress",
        required: true,
        refused: ["", "address", long(250), ...NOT_TEXT],
      },
      {
        name: "policyId",
        required: true,
        refused: ["", "ab".repeat(27), "ab".repeat(29), "xy".repeat(28), ...NOT_TEXT],
      },
      ...providerConfig("PaymentSourceConfig", { required: true }),
      furtherProviders,
      {
        name: "AdminWallets",
        required: true,
        refused: [
          "wallet",
          {},
          null,
          [],
          [{}],
          [{ walletAddress: "" }],
          [{ walletAddress: "address" }],
          [{ walletAddress: long(250) }],
          Array(51).fill({ walletAddress: CONTRACT }),
        ],
      },
      { name: "feeRatePermille", required: true, refused: [-1, 1001, 0.5, "50", null, {}] },
      {
        name: "FeeReceiverNetworkWallet",
        refused: ["a", {}, { walletAddress: 5 }, { walletAddress: "address" }],
      },
      { name: "requiredAdminSignatures", refused: [0, 2, 51, 0.5, "1", {}] },
      { name: "cooldownTime", refused: [-1, 0.5, 31 * 24 * 3_600_000, "1000", null] },
      drives,
      { name: "lastIdentifierChecked", refused: ["", long(250), 5, {}] },
      ...newWallets("PurchasingWallets", 50),
      ...newWallets("SellingWallets", 50),
      ...newWallets("FundingWallets", 50),
    ],
  },
  {
    method: "POST",
    path: "/payment-source-extended/provider/check",
    access: "Admin",
    valid: { network: "Preprod", rpcProvider: "Blockfrost", rpcProviderApiKey: "key" },
    fields: [
      { ...network, refused: [...network.refused, ...NOT_TEXT] },
      { name: "rpcProvider", required: true, refused: ["", "Koios", ...NOT_TEXT] },
      { name: "url", refused: ["", long(250), ...NOT_TEXT] },
      { name: "rpcProviderApiKey", refused: ["", "two words", long(250), ...NOT_TEXT] },
      { name: "smartContractAddress", refused: ["", "address", long(250), ...NOT_TEXT] },
    ],
  },
  {
    method: "PATCH",
    path: "/payment-source-extended",
    access: "Admin",
    valid: { id: "source" },
    fields: [
      { name: "id", required: true, refused: ["", long(250), ...NOT_TEXT] },
      drives,
      { name: "lastIdentifierChecked", refused: ["", long(250), 5, {}, true] },
      ...providerConfig("PaymentSourceConfig", {}),
      furtherProviders,
      ...newWallets("AddPurchasingWallets", 10),
      ...newWallets("AddSellingWallets", 10),
      ...newWallets("AddFundingWallets", 10),
      removals("RemovePurchasingWallets"),
      removals("RemoveSellingWallets"),
      removals("RemoveFundingWallets"),
    ],
  },
  ...ADMINISTRATION_ENDPOINTS,
  ...ESCROW_ENDPOINTS,
  ...INVOICE_ENDPOINTS,
  ...LEDGER_ENDPOINTS,
  ...REFERENCE_SCRIPT_ENDPOINTS,
  ...REGISTRATION_ENDPOINTS,
  ...REGISTRY_ENDPOINTS,
  ...WEBHOOK_ENDPOINTS,
  ...X402_ENDPOINTS,
];
