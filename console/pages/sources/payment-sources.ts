/** The contracts that are followed. */

import { valueAt } from "../../ui/path.ts";
import type { Field, Resource } from "../../ui/resource.ts";
import { SOURCE_TYPES } from "../fields/choices.ts";
import { automationModeField } from "../fields/drives.ts";
import { WALLETS } from "../fields/known-ids.ts";
import { showBudgetAction } from "./budget.ts";
import { changeProvidersAction, countProviders, providerColumns } from "./providers.ts";

const providerKeyField: Field = {
  name: "PaymentSourceConfig.rpcProviderApiKey",
  label: "Provider key",
  as: "secret",
};

const derivedContractFields: readonly Field[] = [
  {
    name: "paymentSourceType",
    label: "Contract",
    as: "choice",
    choices: SOURCE_TYPES,
    initial: "Web3ChainV2",
    isRequired: true,
  },
  { ...providerKeyField, isRequired: true },
  {
    name: "AdminWallets",
    label: "Administrators' addresses",
    as: "lines",
    itemName: "walletAddress",
    isRequired: true,
    hint: "They settle disputes. One address on each line.",
  },
  {
    name: "requiredAdminSignatures",
    label: "Signatures that a dispute needs",
    as: "number",
    initial: "2",
    hint: "At most one for each address. Version 1 needs 2 of 3.",
  },
  {
    name: "feeRatePermille",
    label: "Fee in permille",
    as: "number",
    initial: "0",
    isRequired: true,
    hint: "0 for version 2, which has none.",
  },
  {
    name: "FeeReceiverNetworkWallet.walletAddress",
    label: "Fee receiver's address",
    hint: "For version 1 only.",
  },
  { name: "cooldownTime", label: "Cooldown in milliseconds", as: "number" },
  automationModeField,
];

/** How many wallets of each kind a source has. */
function describeWallets(row: unknown): string {
  const kinds = [
    ["PurchasingWallets", "buying"],
    ["SellingWallets", "selling"],
    ["FundingWallets", "funding"],
  ] as const;
  const counts = kinds.map(
    ([path, name]) => [((valueAt(row, path) as unknown[] | undefined) ?? []).length, name] as const,
  );
  const some = counts.filter(([count]) => count > 0).map(([count, name]) => `${count} ${name}`);
  return some.join(", ") || "none";
}

export const paymentSources: Resource = {
  name: "payment",
  title: "Payment sources",
  description:
    "The contracts that are followed. One that lags shows its error: most often the provider's key or its quota.",
  path: "/payment-source-extended",
  rowsMember: "ExtendedPaymentSources",
  hasNetwork: true,
  emptyText:
    "No contract is followed on this network. Create a payment source from its parameters.",
  columns: [
    { heading: "Contract", path: "paymentSourceType", as: "word", second: "smartContractAddress" },
    { heading: "Automation", path: "drives", as: "tag" },
    { heading: "Read", path: "lastCheckedAt", as: "time" },
    { heading: "Providers", path: "RpcProviders", describe: countProviders },
    { heading: "Problem", path: "error" },
    { heading: "Wallets", path: "PurchasingWallets", describe: describeWallets },
  ],
  details: [
    { heading: "Contract's address", path: "smartContractAddress", as: "address" },
    { heading: "Policy", path: "policyId", as: "code" },
    { heading: "Reading its past", path: "syncInProgress", as: "flag" },
    ...providerColumns,
  ],
  creates: [
    {
      name: "create",
      label: "Create source",
      description:
        "Derives the contract's address and policy from its parameters and follows it from its first transaction. The provider must show the contract's script; where it does not, follow a contract by its address and policy.",
      method: "POST",
      path: "/payment-source-extended",
      hasNetwork: true,
      addsNetwork: true,
      fields: derivedContractFields,
      fixed: { "PaymentSourceConfig.rpcProvider": "Blockfrost" },
      shows: [
        { heading: "Contract", path: "smartContractAddress", as: "code" },
        { heading: "Policy", path: "policyId", as: "code" },
      ],
    },
    {
      name: "follow",
      label: "Follow a contract",
      description: "Follows a contract that is there already, by its address and policy.",
      method: "POST",
      path: "/payment-source-extended",
      hasNetwork: true,
      addsNetwork: true,
      fields: [
        { name: "smartContractAddress", label: "Contract's address", isRequired: true },
        { name: "policyId", label: "Policy id", isRequired: true },
        ...derivedContractFields,
      ],
      fixed: { "PaymentSourceConfig.rpcProvider": "Blockfrost" },
    },
  ],
  actions: [
    {
      name: "change",
      label: "Change",
      description: "Changes what is done with this source's escrows, or the provider's key.",
      method: "PATCH",
      path: "/payment-source-extended",
      fields: [automationModeField, { ...providerKeyField, hint: "Left as it is when empty." }],
      fromRow: { id: "id" },
    },
    changeProvidersAction,
    showBudgetAction,
    {
      name: "publish",
      label: "Publish reference script",
      description:
        "Puts the contract's script into an output that transactions refer to, which makes each of them cheaper. It takes a deposit, given back when it is withdrawn.",
      method: "POST",
      path: "/payment-source-extended/reference-script",
      outcome: "requested",
      fields: [
        {
          name: "walletId",
          label: "Paying wallet",
          knownIds: WALLETS,
          hint: "Empty: one that can.",
        },
      ],
      fromRow: { id: "id" },
    },
    {
      name: "script",
      label: "Show reference script",
      description: "Shows the newest reference script of this source.",
      method: "GET",
      path: "/payment-source-extended/reference-script",
      fromRow: { id: "id" },
      shows: [
        { heading: "State", path: "state", as: "tag" },
        { heading: "Output", path: "output", as: "code" },
        { heading: "Deposit", path: "deposit", as: "native" },
        { heading: "Error", path: "error" },
      ],
    },
    {
      name: "withdraw",
      label: "Withdraw reference script",
      description: "Spends the output with the script and takes the deposit back.",
      method: "DELETE",
      path: "/payment-source-extended/reference-script",
      outcome: "requested",
      fromRow: { id: "id" },
      isFinal: true,
    },
    {
      name: "rewind",
      label: "Read again",
      description:
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
      description:
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
