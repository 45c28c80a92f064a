/** The contracts that are followed. */

import type { Field, Resource } from "../../ui/resource.ts";
import { SOURCE_TYPES } from "../fields/choices.ts";
import { drives } from "../fields/drives.ts";
import { WALLETS } from "../fields/known-ids.ts";
import { showBudget } from "./budget.ts";

const providerKey: Field = {
  name: "PaymentSourceConfig.rpcProviderApiKey",
  label: "Provider key",
  as: "secret",
};

const derived: readonly Field[] = [
  {
    name: "paymentSourceType",
    label: "Contract",
    as: "choice",
    choices: SOURCE_TYPES,
    initial: "Web3ChainV2",
    isRequired: true,
  },
  { ...providerKey, isRequired: true },
  {
    name: "AdminWallets",
    label: "Administrators' addresses",
    as: "lines",
    itemName: "walletAddress",
    isRequired: true,
    hint: "One a line: they settle disputes.",
  },
  {
    name: "requiredAdminSignatures",
    label: "Signatures that a dispute needs",
    as: "number",
    initial: "2",
  },
  {
    name: "feeRatePermille",
    label: "Fee in permille",
    as: "number",
    initial: "0",
    isRequired: true,
    hint: "0 for Web3ChainV2, which has none.",
  },
  {
    name: "FeeReceiverNetworkWallet.walletAddress",
    label: "Fee receiver's address",
    hint: "For Web3ChainV1 only.",
  },
  { name: "cooldownTime", label: "Cooldown in milliseconds", as: "number" },
  drives,
];

export const paymentSources: Resource = {
  name: "payment",
  title: "Payment sources",
  about:
    "The contracts that are followed. One that lags shows its error: most often the provider's key or its quota.",
  path: "/payment-source-extended",
  rows: "ExtendedPaymentSources",
  hasNetwork: true,
  empty: "No contract is followed on this network. Create a payment source from its parameters.",
  columns: [
    { head: "Contract", at: "smartContractAddress" },
    { head: "Type", at: "paymentSourceType" },
    { head: "Drives", at: "drives", as: "tag" },
    { head: "Read", at: "lastCheckedAt", as: "time" },
    { head: "Reading its past", at: "syncInProgress", as: "flag" },
    { head: "Error", at: "error" },
    { head: "Purchasing", at: "PurchasingWallets", as: "count" },
    { head: "Selling", at: "SellingWallets", as: "count" },
    { head: "Funding", at: "FundingWallets", as: "count" },
  ],
  creates: [
    {
      name: "create",
      label: "Create from parameters",
      about:
        "Derives the contract's address and policy from its parameters and follows it from its first transaction. The provider must show the contract's script; where it does not, follow a contract by its address and policy.",
      method: "POST",
      path: "/payment-source-extended",
      hasNetwork: true,
      fields: derived,
      fixed: { "PaymentSourceConfig.rpcProvider": "Blockfrost" },
      shows: [
        { head: "Contract", at: "smartContractAddress", as: "code" },
        { head: "Policy", at: "policyId", as: "code" },
      ],
    },
    {
      name: "follow",
      label: "Follow a contract",
      about: "Follows a contract that is there already, by its address and policy.",
      method: "POST",
      path: "/payment-source-extended",
      hasNetwork: true,
      fields: [
        { name: "smartContractAddress", label: "Contract's address", isRequired: true },
        { name: "policyId", label: "Policy id", isRequired: true },
        ...derived,
      ],
      fixed: { "PaymentSourceConfig.rpcProvider": "Blockfrost" },
    },
  ],
  actions: [
    {
      name: "change",
      label: "Change",
      about: "Changes what is done with this source's escrows, or the provider's key.",
      method: "PATCH",
      path: "/payment-source-extended",
      fields: [drives, { ...providerKey, hint: "Left as it is when empty." }],
      fromRow: { id: "id" },
    },
    showBudget,
    {
      name: "publish",
      label: "Publish reference script",
      about:
        "Puts the contract's script into an output that transactions refer to, which makes each of them cheaper. It takes a deposit, given back when it is withdrawn.",
      method: "POST",
      path: "/payment-source-extended/reference-script",
      fields: [
        {
          name: "walletId",
          label: "Paying wallet (id)",
          known: WALLETS,
          hint: "Empty: one that can.",
        },
      ],
      fromRow: { id: "id" },
    },
    {
      name: "script",
      label: "Show reference script",
      about: "Shows the newest reference script of this source.",
      method: "GET",
      path: "/payment-source-extended/reference-script",
      fromRow: { id: "id" },
      shows: [
        { head: "State", at: "state", as: "tag" },
        { head: "Output", at: "output", as: "code" },
        { head: "Deposit", at: "deposit", as: "native" },
        { head: "Error", at: "error" },
      ],
    },
    {
      name: "withdraw",
      label: "Withdraw reference script",
      about: "Spends the output with the script and takes the deposit back.",
      method: "DELETE",
      path: "/payment-source-extended/reference-script",
      fromRow: { id: "id" },
      isFinal: true,
    },
    {
      name: "rewind",
      label: "Read again",
      about:
        "Reads the chain again after a transaction of the contract; empty: from the start. Records that are known do not change.",
      method: "PATCH",
      path: "/payment-source-extended",
      fields: [
        {
          name: "lastIdentifierChecked",
          label: "Transaction's hash",
          from: "lastIdentifierChecked",
        },
      ],
      fromRow: { id: "id" },
    },
    {
      name: "remove",
      label: "Remove",
      about:
        "Stops following the contract. With unfinished escrows it is refused, unless it is forced: then each of them gets an error, and nothing is built for it any more.",
      method: "DELETE",
      path: "/payment-source-extended",
      fields: [{ name: "force", label: "Force", as: "flag" }],
      fromRow: { id: "id" },
      isFinal: true,
    },
  ],
  related: [{ label: "Wallets", page: "wallets", query: { paymentSourceId: "id" } }],
};
