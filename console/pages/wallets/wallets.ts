import { textAt, valueAt } from "../../ui/path.ts";
import type { Action, Column, Field, PageDefinition } from "../../ui/resource.ts";
import { checkAddress, checkMnemonic } from "../fields/checks.ts";
import { WALLET_TYPES } from "../fields/choices.ts";
import { automationModeField } from "../fields/drives.ts";
import { createAmountField, tokenField } from "../fields/funds.ts";
import { PAYMENT_SOURCES } from "../fields/known-ids.ts";
import { describeLackReason, describePayerLack, formatLackingCoins } from "./lacks.ts";
import { createPayerIds, describeFunding } from "./payers.ts";
import { transactions, transfers } from "./payments.ts";
import { balanceRules } from "./rules.ts";

const noteField: Field = {
  name: "note",
  label: "Note",
  from: "note",
  hint: "The name that the console shows.",
};
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

/** What a wallet does at this moment. */
function describeWork(row: unknown): string {
  const reason = textAt(row, "HeldUp.reason");
  if (reason !== "") return `Held up: ${reason}`;
  const countAt = (path: string) => ((valueAt(row, path) as unknown[] | undefined) ?? []).length;
  const parts = [
    [countAt("Transactions"), "under way"],
    [countAt("Waiting"), "waiting"],
  ] as const;
  const some = parts.filter(([count]) => count > 0);
  return some.map(([count, what]) => `${count} ${what}`).join(", ") || "idle";
}

const createdWalletColumns: readonly Column[] = [
  { heading: "Mnemonic", path: "walletMnemonic", as: "secret" },
  { heading: "Address", path: "walletAddress", as: "code" },
];

/** A wallet has one rule for a token. */
const createRuleRemedy = (tab: string): NonNullable<Action["remedy"]> => ({
  label: "Change that rule",
  ...{ tab, field: "unit", says: "has a rule", needs: "Admin" },
  fromRow: { walletId: "id" },
});

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
        { heading: "Name", path: "note", second: "walletAddress" },
        { heading: "Type", path: "type" },
        { heading: "Automation", path: "drives", as: "tag" },
        { heading: "Balance", path: "Balance", as: "funds" },
        { heading: "Lacks", path: "Missing", as: "funds" },
        { heading: "Work", path: "Transactions", describe: describeWork },
      ],
      details: [
        { heading: "Address", path: "walletAddress", as: "address" },
        { heading: "Revenue or refunds go to", path: "collectionAddress", as: "address" },
        { heading: "Send what it lacks to", path: "Missing.0.sendTo", as: "address" },
        {
          heading: "Why it lacks that",
          path: "Missing.0.reason",
          describe: (row) => describeLackReason(valueAt(row, "Missing.0")),
        },
        { heading: "Held up", path: "HeldUp.reason" },
        { heading: "Unspent outputs", path: "Outputs.count" },
        { heading: "Key hash", path: "walletVkey", as: "code" },
        { heading: "Created", path: "createdAt", as: "time" },
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
          name: "fund",
          label: "Fund this wallet",
          description: "Pays to this wallet from another wallet of the service.",
          prerequisite: {
            lists: [{ path: "/wallet/list", query: { limit: "100" }, rowsMember: "Wallets" }],
            describe: ([wallets = []], wallet) => describePayerLack(wallets, wallet),
          },
          method: "POST",
          path: "/wallet/transfer-funds",
          outcome: "queued",
          fields: [
            {
              name: "fromWalletAddress",
              label: "From wallet",
              isRequired: true,
              knownIdsBy: (_, row) => createPayerIds(row),
            },
            {
              name: "minorUnitAmount",
              label: "Amount",
              as: "amount",
              isRequired: true,
              initialBy: formatLackingCoins,
            },
          ],
          fromRow: { toAddress: "walletAddress" },
          confirmation: "The amount is right: a payment cannot be taken back.",
        },
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
          label: "Pay from this wallet",
          description: "Pays from this wallet to an address.",
          reads: [{ heading: "Balance", path: "Balance", as: "funds" }],
          method: "POST",
          path: "/wallet/transfer-funds",
          outcome: "queued",
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
          confirmation: "The address is right: a payment cannot be taken back.",
        },
        {
          name: "low-balance",
          label: "Watch balance",
          description: "Sends an event each time the balance falls below an amount.",
          remedy: createRuleRemedy("rules"),
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
          remedy: createRuleRemedy("top-ups"),
          prerequisite: {
            lists: [
              {
                path: "/wallet/list",
                query: { walletType: "Funding", limit: "100" },
                fromRow: { paymentSourceId: "paymentSourceId" },
                rowsMember: "Wallets",
              },
            ],
            describe: ([payers = []]) => describeFunding(payers),
          },
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
          confirmation: "Nobody else sees this screen.",
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
