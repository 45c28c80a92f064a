import { textAt } from "../../ui/path.ts";
import type { Action, Column, Field, PageDefinition } from "../../ui/resource.ts";
import { checkAddress, checkMnemonic } from "../fields/checks.ts";
import { WALLET_TYPES } from "../fields/choices.ts";
import { automationModeField } from "../fields/drives.ts";
import { createAmountField, tokenField } from "../fields/funds.ts";
import { PAYMENT_SOURCES } from "../fields/known-ids.ts";
import { transactions, transfers } from "./payments.ts";
import { balanceRules } from "./rules.ts";

const noteField: Field = { name: "note", label: "Note", from: "note" };
const collectionAddressField: Field = {
  name: "collectionAddress",
  label: "Collection address",
  from: "collectionAddress",
  hint: "Where revenue or refunds go instead of to the wallet itself.",
};
const sourceField: Field = {
  name: "paymentSourceId",
  label: "Payment source",
  isRequired: true,
  knownIds: PAYMENT_SOURCES,
};
const typeField: Field = {
  name: "walletType",
  label: "Type",
  as: "choice",
  choices: WALLET_TYPES,
  initial: "Selling",
  isRequired: true,
};
const unitField: Field = { ...tokenField, isEmptySent: false };

const createdWalletColumns: readonly Column[] = [
  { heading: "Mnemonic", path: "walletMnemonic", as: "secret" },
  { heading: "Address", path: "walletAddress", as: "code" },
];

const createRemoveAction = (walletType: string): Action => ({
  name: `remove-${walletType.toLowerCase()}`,
  label: "Remove",
  description:
    "Takes the wallet from its payment source. With unfinished escrows it is refused, unless it is forced: then each of them gets an error, and nothing is built for it any more.",
  method: "PATCH",
  path: "/payment-source-extended",
  fields: [{ name: "force", label: "Force", as: "flag" }],
  fromRow: { id: "paymentSourceId", [`Remove${walletType}Wallets`]: [{ id: "id" }] },
  isFinal: true,
  isApplicable: (row) => textAt(row, "type") === walletType,
});

export const walletsPage: PageDefinition = {
  name: "wallets",
  title: "Wallets",
  access: "+PAY",
  tabs: [
    {
      name: "wallets",
      title: "Wallets",
      description:
        "What the managed wallets hold, do and wait for. One that lacks something says what, and where to send it.",
      path: "/wallet/list",
      rowsMember: "Wallets",
      emptyText: "There is no wallet yet. Add one to a payment source.",
      filters: [
        { name: "walletType", label: "Type", as: "choice", choices: WALLET_TYPES },
        { name: "paymentSourceId", label: "Payment source", knownIds: PAYMENT_SOURCES },
        { name: "walletAddress", label: "Address" },
      ],
      columns: [
        { heading: "Note", path: "note" },
        { heading: "Type", path: "type" },
        { heading: "Address", path: "walletAddress", as: "code" },
        { heading: "Automation", path: "drives", as: "tag" },
        { heading: "Balance", path: "Balance", as: "funds" },
        { heading: "Outputs", path: "Outputs.count" },
        { heading: "Under way", path: "Transactions", as: "count" },
        { heading: "Waiting", path: "Waiting", as: "count" },
        { heading: "Held up", path: "HeldUp.reason" },
        { heading: "Lacks", path: "Missing", as: "funds" },
      ],
      creates: [
        {
          name: "create",
          label: "Create wallet",
          description:
            "Makes a new wallet for a payment source. Its mnemonic is shown once: write it down before you send funds to it.",
          method: "POST",
          path: "/wallet",
          hasNetwork: true,
          fields: [sourceField, typeField, noteField, collectionAddressField, automationModeField],
          shows: createdWalletColumns,
        },
        {
          name: "add",
          label: "Add wallet",
          description: "Adds a wallet by its mnemonic. It is encrypted before it is stored.",
          method: "POST",
          path: "/wallet",
          hasNetwork: true,
          fields: [
            sourceField,
            typeField,
            {
              name: "walletMnemonic",
              label: "Mnemonic",
              as: "secret",
              isRequired: true,
              check: checkMnemonic,
            },
            noteField,
            collectionAddressField,
            automationModeField,
          ],
          shows: createdWalletColumns.slice(1),
        },
      ],
      actions: [
        {
          name: "change",
          label: "Change",
          description:
            "Changes what the wallet does, its note, or where its revenue or refunds go.",
          method: "PATCH",
          path: "/wallet",
          fields: [noteField, collectionAddressField, automationModeField],
          fromRow: { id: "id" },
        },
        {
          name: "transfer",
          label: "Transfer funds",
          description: "Pays from this wallet to an address.",
          method: "POST",
          path: "/wallet/transfer-funds",
          fields: [
            { name: "toAddress", label: "To address", isRequired: true, check: checkAddress },
            { name: "minorUnitAmount", label: "Amount", as: "amount", isRequired: true },
            {
              name: "assets",
              label: "Tokens",
              as: "rows",
              rowName: "token",
              rowFields: [createAmountField("quantity"), tokenField],
            },
          ],
          fromRow: { fromWalletAddress: "walletAddress" },
          isFinal: true,
        },
        {
          name: "low-balance",
          label: "Watch balance",
          description: "Sends an event each time the balance falls below an amount.",
          method: "POST",
          path: "/wallet/low-balance",
          fields: [
            unitField,
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
          description: "Has the Funding wallet of the same payment source fill this wallet up.",
          method: "POST",
          path: "/wallet/top-up",
          fields: [
            unitField,
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
          isApplicable: (row) => textAt(row, "type") !== "Funding",
        },
        {
          name: "secret",
          label: "Show mnemonic",
          description: "Shows the wallet's mnemonic. The audit log records who requested it.",
          method: "GET",
          path: "/wallet",
          fromRow: { id: "id", walletType: "type" },
          fixed: { includeSecret: "true" },
          isFinal: true,
          shows: [{ heading: "Mnemonic", path: "Secret.mnemonic", as: "secret" }],
        },
        ...WALLET_TYPES.map(createRemoveAction),
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
