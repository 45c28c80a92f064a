import { findEvmToken, formatEvmAmount, formatEvmToken, listEvmTokens } from "../ui/evm-tokens.ts";
import { textAt } from "../ui/path.ts";
import type { Column, Field, KnownIds, Option, PageDefinition } from "../ui/resource.ts";
import { evmBalances } from "./evm-balances.ts";
import { API_KEYS, EVM_NETWORKS, EVM_WALLETS } from "./fields/known-ids.ts";
import { describeRuleState } from "./wallets/rules.ts";

const caip2Field: Field = {
  name: "caip2Network",
  label: "Network",
  knownIds: EVM_NETWORKS,
};

/** Addresses of the wallets of a chain. */
const createEvmAddressIds = (caip2Network: string): KnownIds => ({
  ...EVM_WALLETS,
  idPath: "address",
  ...(caip2Network && { query: { caip2Network } }),
});

const tokenField: Field = {
  name: "asset",
  label: "Token",
  listOptions: listEvmTokens,
  hint: "Its name, or its address.",
};

const NATIVE_OPTION: Option = { id: "native", label: "Native coin", detail: "It pays the gas." };

/** An amount in whole units of the form's token, or of the row's. */
const createAmountField = (name: string, label: string): Field => ({
  name,
  label,
  as: "amount",
  isRequired: true,
  token: (values, row) => {
    const read = (member: string) => values[member] || (row === null ? "" : textAt(row, member));
    return findEvmToken(read("asset"), read("caip2Network"));
  },
});

/** A column of an amount of a token. */
const amountColumn = (
  heading: string,
  path: string,
  { asset = "asset", chain = "caip2Network", none = "" } = {},
): Column => ({
  heading,
  path,
  isAmount: true,
  describe: (row) => {
    const amount = textAt(row, path);
    return amount === "" ? none : formatEvmAmount(amount, textAt(row, chain), textAt(row, asset));
  },
});

/** What the token is called, and its address where people can copy it. */
const tokenColumn = (path: string, chain = "caip2Network"): Column => ({
  heading: "Token",
  path,
  describe: (row) => formatEvmToken(textAt(row, chain), textAt(row, path)),
});

const addressColumn = (heading: string, path: string, chainFrom = "caip2Network"): Column => ({
  heading,
  path,
  as: "address",
  chainFrom,
});

const hashColumn = (path: string): Column => ({
  heading: "Transaction",
  path,
  as: "hash",
  chainFrom: "caip2Network",
});

const networkFields: readonly Field[] = [
  { name: "displayName", label: "Name", from: "displayName", isRequired: true },
  { name: "rpcUrl", label: "RPC URL", from: "rpcUrl", isRequired: true },
  {
    name: "isTestnet",
    label: "It is a test network",
    as: "flag",
    from: "isTestnet",
    initial: "false",
  },
  { name: "isEnabled", label: "Enabled", as: "flag", from: "isEnabled", initial: "true" },
  { name: "defaultAsset", label: "Token that is paid by default", from: "defaultAsset" },
  {
    name: "facilitatorWalletId",
    label: "Wallet that settles",
    knownIds: EVM_WALLETS,
    from: "facilitatorWalletId",
    hint: "It pays the gas.",
  },
];

export const x402Page: PageDefinition = {
  name: "x402",
  title: "x402",
  access: "+PAY",
  tabs: [
    {
      name: "payments",
      title: "Payments",
      description:
        "Attempts to pay by x402, in and out. One that stays verified for minutes was not settled: check the network's wallet and its gas.",
      path: "/x402/payments",
      rowsMember: "PaymentAttempts",
      emptyText: "Nobody has paid by x402, or nothing that the filters leave.",
      filters: [
        {
          name: "status",
          label: "Status",
          as: "choice",
          choices: ["PaymentRequired", "Verified", "Settled", "Failed", "Replayed"],
        },
        {
          name: "direction",
          label: "Direction",
          as: "choice",
          choices: ["InboundVerify", "InboundSettle", "OutboundPayment"],
        },
        caip2Field,
      ],
      columns: [
        { heading: "Resource", path: "resource" },
        { heading: "Direction", path: "direction", as: "word" },
        { heading: "Status", path: "status", as: "tag" },
        amountColumn("Amount", "amount"),
        { heading: "Problem", path: "errorMessage" },
        { heading: "When", path: "createdAt", as: "time" },
      ],
      details: [
        hashColumn("Settlement.txHash"),
        { heading: "Network", path: "caip2Network", knownIds: EVM_NETWORKS },
        addressColumn("Token's address", "asset"),
        addressColumn("Payer", "payer"),
        addressColumn("Paid to", "payTo"),
        addressColumn("Settled by", "facilitator"),
      ],
    },
    {
      name: "settlements",
      title: "Settlements",
      description: "What was settled on a chain, newest first.",
      path: "/x402/settlements",
      rowsMember: "Settlements",
      emptyText: "Nothing was settled yet.",
      columns: [
        { heading: "Transaction", path: "txHash" },
        { heading: "Succeeded", path: "success", as: "flag" },
        amountColumn("Amount", "amount"),
        { heading: "Network", path: "caip2Network", knownIds: EVM_NETWORKS },
        addressColumn("Payer", "payer"),
        { heading: "When", path: "createdAt", as: "time" },
      ],
      details: [hashColumn("txHash"), addressColumn("Token's address", "asset")],
    },
    {
      name: "networks",
      title: "Networks",
      description:
        "EVM chains that payments are settled on, and the wallet that pays the gas there.",
      needs: "Admin",
      path: "/x402/networks",
      rowsMember: "Networks",
      isWhole: true,
      emptyText: "There is no EVM chain yet. Add a network.",
      columns: [
        { heading: "Name", path: "displayName" },
        { heading: "CAIP-2", path: "caip2Id" },
        { heading: "Enabled", path: "isEnabled", as: "flag" },
        { heading: "Test network", path: "isTestnet", as: "flag" },
        { heading: "RPC", path: "rpcUrl", as: "link" },
        addressColumn("Settled by", "facilitatorWalletAddress", "caip2Id"),
      ],
      creates: [
        {
          name: "create",
          label: "Add network",
          description: "Adds an EVM chain.",
          method: "POST",
          path: "/x402/networks",
          fields: [{ name: "caip2Id", label: "CAIP-2 id", isRequired: true }, ...networkFields],
        },
      ],
      actions: [
        {
          name: "change",
          label: "Change",
          description: "Changes the chain's configuration.",
          method: "POST",
          path: "/x402/networks",
          fields: networkFields,
          fromRow: { caip2Id: "caip2Id" },
        },
      ],
    },
    {
      name: "wallets",
      title: "Wallets",
      description: "Managed EVM wallets: those that settle and sell, and those that pay.",
      path: "/x402/wallets",
      rowsMember: "Wallets",
      emptyText: "There is no EVM wallet yet. Create one that sells or one that pays.",
      filters: [caip2Field],
      columns: [
        {
          heading: "Wallet",
          path: "address",
          describe: (row) => textAt(row, "note") || textAt(row, "address"),
          second: "address",
        },
        { heading: "Type", path: "type" },
        { heading: "Network", path: "caip2Network", knownIds: EVM_NETWORKS },
        { heading: "Created", path: "createdAt", as: "time" },
      ],
      details: [addressColumn("Address", "address"), { heading: "Id", path: "id", as: "code" }],
      creates: [
        {
          name: "create",
          label: "Create wallet",
          description:
            "Makes a wallet, or imports one by its private key. A new private key is shown once.",
          method: "POST",
          path: "/x402/wallets",
          fields: [
            { ...caip2Field, isRequired: true },
            {
              name: "type",
              label: "Type",
              as: "choice",
              choices: ["Selling", "Purchasing"],
              initial: "Selling",
              isRequired: true,
            },
            { name: "note", label: "Note" },
            { name: "privateKey", label: "Private key, to import one", as: "secret" },
          ],
          shows: [
            { heading: "Address", path: "address", as: "code" },
            { heading: "Private key", path: "privateKey", as: "secret" },
          ],
        },
      ],
      actions: [
        {
          name: "watch",
          label: "Watch balance",
          description: "Sends an event each time the balance falls below a threshold.",
          method: "POST",
          path: "/x402/low-balance",
          fields: [
            {
              ...tokenField,
              listOptions: () => [NATIVE_OPTION, ...listEvmTokens()],
              initial: "native",
              isRequired: true,
            },
            createAmountField("threshold", "Below"),
          ],
          fromRow: { evmWalletId: "id" },
        },
      ],
    },
    evmBalances,
    {
      name: "budgets",
      title: "Budgets",
      description: "What a key may still pay from a wallet in a token.",
      needs: "Admin",
      path: "/x402/budgets",
      rowsMember: "Budgets",
      emptyText: "No key may pay by x402 yet: set a budget.",
      columns: [
        { heading: "Key", path: "apiKeyId", knownIds: API_KEYS },
        { heading: "Wallet", path: "evmWalletId", knownIds: EVM_WALLETS },
        amountColumn("Left", "remainingAmount"),
        amountColumn("Spent", "spentAmount"),
        { heading: "Enabled", path: "isEnabled", as: "flag" },
      ],
      details: [
        { heading: "Network", path: "caip2Network", knownIds: EVM_NETWORKS },
        addressColumn("Token's address", "asset"),
      ],
      creates: [
        {
          name: "set",
          label: "Set budget",
          description: "Sets what a key may still pay from a wallet in a token.",
          method: "POST",
          path: "/x402/budgets",
          fields: [
            { name: "apiKeyId", label: "Key", knownIds: API_KEYS, isRequired: true },
            { name: "evmWalletId", label: "Wallet", knownIds: EVM_WALLETS, isRequired: true },
            { ...tokenField, isRequired: true },
            createAmountField("remainingAmount", "May pay"),
            { name: "isEnabled", label: "Enabled", as: "flag", initial: "true" },
          ],
        },
      ],
      actions: [
        {
          name: "change",
          label: "Change",
          description: "Changes what may still be paid.",
          method: "POST",
          path: "/x402/budgets",
          fields: [
            { ...createAmountField("remainingAmount", "May pay"), from: "remainingAmount" },
            { name: "isEnabled", label: "Enabled", as: "flag", from: "isEnabled" },
          ],
          fromRow: { apiKeyId: "apiKeyId", evmWalletId: "evmWalletId", asset: "asset" },
        },
      ],
    },
    {
      name: "rules",
      title: "Balance rules",
      description: "An event is sent each time a wallet's balance falls below its threshold.",
      needs: "Admin",
      path: "/x402/low-balance",
      rowsMember: "Rules",
      elsewhere: [{ label: "Choose a wallet for a rule", tab: "wallets", needs: "Admin" }],
      emptyText: "There is no rule. Open a wallet and press Watch balance.",
      columns: [
        { heading: "Wallet", path: "evmWalletId", knownIds: EVM_WALLETS },
        tokenColumn("asset"),
        amountColumn("Below", "threshold"),
        { heading: "State", path: "state", as: "tag", describe: describeRuleState("state") },
        { heading: "Checked", path: "checkedAt", as: "time" },
      ],
    },
    {
      name: "resources",
      title: "Resources",
      description: "What is sold by x402, and its price.",
      path: "/x402/payment-sources",
      rowsMember: "PaymentSources",
      emptyText: "Nothing is sold by x402 yet. Add a resource with its price.",
      columns: [
        { heading: "URL", path: "url" },
        { heading: "Description", path: "description" },
        { heading: "Network", path: "terms.caip2Network", knownIds: EVM_NETWORKS },
        amountColumn("Price", "terms.amount", {
          asset: "terms.asset",
          chain: "terms.caip2Network",
          none: "stated for each payment",
        }),
        addressColumn("Paid to", "terms.payTo", "terms.caip2Network"),
        { heading: "Created", path: "createdAt", as: "time" },
      ],
      details: [addressColumn("Token's address", "terms.asset", "terms.caip2Network")],
      creates: [
        {
          name: "create",
          label: "Add resource",
          description: "Registers what is sold: its URL and its price.",
          method: "POST",
          path: "/x402/payment-sources",
          needs: "+PAY",
          fields: [
            { name: "url", label: "URL", isRequired: true },
            { name: "description", label: "Description" },
            { ...caip2Field, isRequired: true },
            { ...tokenField, hint: "Its name, or its address. Empty: the network's default." },
            createAmountField("amount", "Price"),
            {
              name: "payTo",
              label: "Paid to",
              isRequired: true,
              knownIdsBy: ({ caip2Network = "" }) => createEvmAddressIds(caip2Network),
              hint: "A wallet of the network, or another address there.",
            },
          ],
        },
      ],
    },
  ],
};
