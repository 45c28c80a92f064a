import { textAt } from "../../ui/path.ts";
import type { Action, Column, Field, Page } from "../../ui/resource.ts";
import { WALLET_TYPES } from "../fields/choices.ts";
import { drives } from "../fields/drives.ts";
import { PAYMENT_SOURCES, UNITS } from "../fields/known-ids.ts";
import { transactions, transfers } from "./payments.ts";
import { balanceRules } from "./rules.ts";

const note: Field = { name: "note", label: "Note", from: "note" };
const collectionAddress: Field = {
  name: "collectionAddress",
  label: "Collection address",
  from: "collectionAddress",
  hint: "Where revenue or refunds go instead of to the wallet itself.",
};
const source: Field = {
  name: "paymentSourceId",
  label: "Payment source (id)",
  isRequired: true,
  known: PAYMENT_SOURCES,
};
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
  known: UNITS,
  hint: "Policy id and asset name in hex; empty for the native coin.",
};

const created: readonly Column[] = [
  { head: "Mnemonic", at: "walletMnemonic", as: "secret" },
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
        { name: "paymentSourceId", label: "Payment source (id)", known: PAYMENT_SOURCES },
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
          label: "Top up automatically",
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
          about: "Shows the wallet's mnemonic. The audit log records who requested it.",
          method: "GET",
          path: "/wallet",
          fromRow: { id: "id", walletType: "type" },
          fixed: { includeSecret: "true" },
          isFinal: true,
          shows: [{ head: "Mnemonic", at: "Secret.mnemonic", as: "secret" }],
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
    transactions,
    transfers,
    ...balanceRules,
  ],
};
