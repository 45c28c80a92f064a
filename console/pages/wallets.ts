import { at, textAt } from "../ui/path.ts";
import type { Action, Column, Field, Page } from "../ui/resource.ts";
import { WALLET_TYPES } from "./choices.ts";
import { drives } from "./drives.ts";

const note: Field = { name: "note", label: "Note", from: "note" };
const collectionAddress: Field = {
  name: "collectionAddress",
  label: "Collection address",
  from: "collectionAddress",
  hint: "Where revenue or refunds go instead of to the wallet itself.",
};
const source: Field = { name: "paymentSourceId", label: "Payment source (id)", isRequired: true };
const type: Field = {
  name: "walletType",
  label: "Type",
  as: "choice",
  choices: WALLET_TYPES,
  initial: "Selling",
  isRequired: true,
};
const unit: Field = {
  name: "unit",
  label: "Unit",
  hint: "Policy id and asset name in hex; empty for the native coin.",
};

const created: readonly Column[] = [
  { head: "Mnemonic", at: "walletMnemonic", as: "code" },
  { head: "Address", at: "walletAddress", as: "code" },
];

const removal = (walletType: string): Action => ({
  name: `remove-${walletType.toLowerCase()}`,
  label: "Remove",
  about:
    "Takes the wallet from its payment source. With unfinished escrows it is refused, unless it is forced: then each of them gets an error, and nothing is built for it any more.",
  method: "PATCH",
  path: "/payment-source-extended",
  fields: [{ name: "force", label: "Force", as: "flag" }],
  fromRow: { id: "paymentSourceId", [`Remove${walletType}Wallets`]: [{ id: "id" }] },
  isFinal: true,
  when: (row) => textAt(row, "type") === walletType,
});

export const wallets: Page = {
  name: "wallets",
  title: "Wallets",
  needs: "+PAY",
  tabs: [
    {
      name: "wallets",
      title: "Wallets",
      about:
        "What the managed wallets hold, do and wait for. One that lacks something says what, and where to send it.",
      path: "/wallet/list",
      rows: "Wallets",
      empty: "There is no wallet yet. Add one to a payment source.",
      filters: [
        { name: "walletType", label: "Type", as: "choice", choices: WALLET_TYPES },
        { name: "paymentSourceId", label: "Payment source (id)" },
        { name: "walletAddress", label: "Address" },
      ],
      columns: [
        { head: "Note", at: "note" },
        { head: "Type", at: "type" },
        { head: "Address", at: "walletAddress", as: "code" },
        { head: "Drives", at: "drives", as: "tag" },
        { head: "Balance", at: "Balance", as: "funds" },
        { head: "Outputs", at: "Outputs.count" },
        { head: "Under way", at: "Transactions", as: "count" },
        { head: "Waiting", at: "Waiting", as: "count" },
        { head: "Held up", at: "HeldUp.reason" },
        { head: "Lacks", at: "Missing", as: "funds" },
      ],
      creates: [
        {
          name: "create",
          label: "Create wallet",
          about:
            "Makes a new wallet for a payment source. Its mnemonic is shown once: write it down before you send funds to it.",
          method: "POST",
          path: "/wallet",
          hasNetwork: true,
          fields: [source, type, note, collectionAddress, drives],
          shows: created,
        },
        {
          name: "add",
          label: "Add wallet",
          about: "Adds a wallet by its mnemonic. It is encrypted before it is stored.",
          method: "POST",
          path: "/wallet",
          hasNetwork: true,
          fields: [
            source,
            type,
            { name: "walletMnemonic", label: "Mnemonic", as: "secret", isRequired: true },
            note,
            collectionAddress,
            drives,
          ],
          shows: created.slice(1),
        },
      ],
      actions: [
        {
          name: "change",
          label: "Change",
          about: "Changes what the wallet does, its note, or where its revenue or refunds go.",
          method: "PATCH",
          path: "/wallet",
          fields: [note, collectionAddress, drives],
          fromRow: { id: "id" },
        },
        {
          name: "transfer",
          label: "Transfer funds",
          about: "Pays from this wallet to an address.",
          method: "POST",
          path: "/wallet/transfer-funds",
          fields: [
            { name: "toAddress", label: "To address", isRequired: true },
            { name: "minorUnitAmount", label: "Native coin", as: "amount", isRequired: true },
            {
              name: "assets",
              label: "Tokens",
              as: "json",
              hint: 'A list of {"unit": …, "quantity": …} in minor units; empty: none.',
            },
          ],
          fromRow: { fromWalletAddress: "walletAddress" },
          isFinal: true,
        },
        {
          name: "low-balance",
          label: "Watch balance",
          about: "Sends an event each time the balance falls below an amount.",
          method: "POST",
          path: "/wallet/low-balance",
          fields: [
            unit,
            {
              name: "thresholdAmount",
              label: "Below",
              as: "amount",
              unitFrom: "unit",
              isRequired: true,
            },
          ],
          fromRow: { walletId: "id" },
        },
        {
          name: "top-up",
          label: "Top up by itself",
          about: "Has the Funding wallet of the same payment source fill this wallet up.",
          method: "POST",
          path: "/wallet/top-up",
          fields: [
            unit,
            {
              name: "below",
              label: "When below",
              as: "amount",
              unitFrom: "unit",
              isRequired: true,
            },
            { name: "upTo", label: "Up to", as: "amount", unitFrom: "unit", isRequired: true },
            { name: "perDay", label: "Most a day", as: "amount", unitFrom: "unit" },
          ],
          fromRow: { walletId: "id" },
          when: (row) => textAt(row, "type") !== "Funding",
        },
        {
          name: "secret",
          label: "Show mnemonic",
          about:
            "Shows the words that the wallet is made of. Who asked for them is in the audit log.",
          method: "GET",
          path: "/wallet",
          fromRow: { id: "id", walletType: "type" },
          fixed: { includeSecret: "true" },
          isFinal: true,
          shows: [{ head: "Mnemonic", at: "Secret.mnemonic", as: "code" }],
        },
        ...WALLET_TYPES.map(removal),
      ],
      related: [
        {
          label: "Transactions",
          page: "wallets",
          tab: "transactions",
          query: { walletVkey: "walletVkey" },
        },
        { label: "Transfers", page: "wallets", tab: "transfers", query: { hotWalletId: "id" } },
        { label: "Balance rules", page: "wallets", tab: "rules", query: { walletId: "id" } },
        { label: "Top-up rules", page: "wallets", tab: "top-ups", query: { walletId: "id" } },
      ],
    },
    {
      name: "transactions",
      title: "Transactions",
      about: "What the wallets sent, or are about to send, and what each transaction was made for.",
      needs: "Admin",
      path: "/wallet/transaction",
      rows: "Transactions",
      key: "txHash",
      hasNetwork: true,
      empty: "No wallet has sent anything, or nothing that the filters leave.",
      filters: [
        { name: "walletVkey", label: "Wallet (key hash)" },
        {
          name: "state",
          label: "State",
          as: "choice",
          choices: [
            "Stored",
            "Sent",
            "InBlock",
            "Confirmed",
            "Final",
            "RolledBack",
            "Expired",
            "Refused",
            "Orphaned",
            "Failed",
            "Dead",
          ],
        },
      ],
      columns: [
        { head: "Transaction", at: "txHash" },
        { head: "State", at: "state", as: "tag" },
        { head: "Tasks", at: "Tasks", as: "count" },
        { head: "Fee", at: "fees", as: "native" },
        { head: "Error", at: "error" },
        { head: "Made", at: "createdAt", as: "time" },
      ],
    },
    {
      name: "transfers",
      title: "Transfers",
      about: "Payments out of the wallets, top-ups among them.",
      needs: "Admin",
      path: "/wallet/transfer-funds",
      rows: "transfers",
      hasNetwork: true,
      empty: "Nothing was transferred.",
      filters: [{ name: "hotWalletId", label: "From wallet (id)" }],
      columns: [
        { head: "Id", at: "id" },
        { head: "Status", at: "status", as: "tag" },
        { head: "To", at: "toAddress", as: "code" },
        { head: "Native coin", at: "minorUnitAmount", as: "native" },
        { head: "Tokens", at: "assets", as: "funds" },
        { head: "Transaction", at: "txHash", as: "code" },
        { head: "Note", at: "errorNote" },
        { head: "Made", at: "createdAt", as: "time" },
      ],
    },
    rules(
      "rules",
      "Balance rules",
      "/wallet/low-balance",
      "An event is sent each time a balance falls below its threshold.",
      [
        { head: "Below", at: "thresholdAmount" },
        { head: "Status", at: "status", as: "tag" },
      ],
    ),
    rules(
      "top-ups",
      "Top-up rules",
      "/wallet/top-up",
      "A Funding wallet fills a wallet up when its balance falls below an amount.",
      [
        { head: "Below", at: "below" },
        { head: "Up to", at: "upTo" },
        { head: "Most a day", at: "perDay" },
        { head: "Waits for", at: "waitsFor" },
      ],
    ),
  ],
};

function rules(
  name: string,
  title: string,
  path: string,
  about: string,
  columns: Column[],
): Page["tabs"][number] {
  return {
    name,
    title,
    about,
    needs: "Admin",
    path,
    rows: "Rules",
    empty: "There is no rule. Make one at a wallet.",
    filters: [{ name: "walletId", label: "Wallet (id)" }],
    columns: [
      { head: "Wallet", at: "walletId" },
      { head: "Unit", at: "unit", as: "code" },
      ...columns,
      { head: "Balance", at: "balance" },
      { head: "Enabled", at: "enabled", as: "flag" },
      { head: "Checked", at: "checkedAt", as: "time" },
    ],
    actions: [
      {
        name: "switch-off",
        label: "Switch off",
        about: "Keeps the rule and does nothing by it.",
        method: "PATCH",
        path,
        fixed: { enabled: false },
        fromRow: { id: "id" },
        when: (row) => at(row, "enabled") === true,
      },
      {
        name: "switch-on",
        label: "Switch on",
        about: "Follows the rule again.",
        method: "PATCH",
        path,
        fixed: { enabled: true },
        fromRow: { id: "id" },
        when: (row) => at(row, "enabled") === false,
      },
      {
        name: "delete",
        label: "Delete",
        about: "Deletes the rule.",
        method: "DELETE",
        path,
        fromRow: { id: "id" },
        isFinal: true,
      },
    ],
  };
}
