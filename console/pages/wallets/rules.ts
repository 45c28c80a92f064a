/** What is done when a wallet's balance falls: somebody is told, or it is filled up. */

import { decimalsOf, formatFunds, formatUnit } from "../../ui/format.ts";
import { textAt, valueAt } from "../../ui/path.ts";
import type { Column, Field, Resource } from "../../ui/resource.ts";
import { WALLETS } from "../fields/known-ids.ts";

/** An amount of the rule's token. */
function describeAmount(path: string): (row: unknown) => string {
  return (row) => {
    const amount = textAt(row, path);
    const unit = textAt(row, "unit");
    if (amount !== "") return formatFunds(amount, unit);
    return path === "balance" ? "not checked yet" : "–";
  };
}

/** A new or changed rule has not been checked against the balance. */
export const describeRuleState =
  (path: string) =>
  (row: unknown): string =>
    textAt(row, path) === "Unknown" ? "Not checked yet" : textAt(row, path);

/** A field of an amount of the rule's token. */
const createAmountField = (name: string, label: string): Field => ({
  name,
  label,
  as: "amount",
  from: name,
  isRequired: true,
  token: (_, row) => {
    const unit = textAt(row, "unit");
    return { name: formatUnit(unit), decimals: decimalsOf(unit) ?? null };
  },
});

export const balanceRules: readonly Resource[] = [
  createRuleList(
    "rules",
    "Balance rules",
    "/wallet/low-balance",
    "An event is sent each time a balance falls below its threshold. A wallet gets its rule with Watch balance.",
    "Watch balance",
    [
      { heading: "Below", path: "thresholdAmount", describe: describeAmount("thresholdAmount") },
      { heading: "Status", path: "status", as: "tag", describe: describeRuleState("status") },
    ],
    [createAmountField("thresholdAmount", "Below")],
  ),
  createRuleList(
    "top-ups",
    "Top-up rules",
    "/wallet/top-up",
    "A Funding wallet fills a wallet up when its balance falls below an amount. A wallet gets its rule with Top up automatically.",
    "Top up automatically",
    [
      { heading: "Below", path: "below", describe: describeAmount("below") },
      { heading: "Up to", path: "upTo", describe: describeAmount("upTo") },
      { heading: "Most a day", path: "perDay", describe: describeAmount("perDay") },
      { heading: "Waits for", path: "waitsFor" },
    ],
    [
      createAmountField("below", "When below"),
      createAmountField("upTo", "Up to"),
      createAmountField("perDay", "Most a day"),
    ],
  ),
];

function createRuleList(
  name: string,
  title: string,
  path: string,
  about: string,
  /** What makes a rule, at a wallet. */
  maker: string,
  columns: Column[],
  fields: readonly Field[],
): Resource {
  return {
    name,
    title,
    description: about,
    needs: "Admin",
    path,
    rowsMember: "Rules",
    elsewhere: [{ label: "Choose a wallet for a rule", tab: "wallets", needs: "Admin" }],
    emptyText: `There is no rule. Open a wallet and press ${maker}.`,
    filters: [{ name: "walletId", label: "Wallet", knownIds: WALLETS }],
    columns: [
      { heading: "Wallet", path: "walletId", knownIds: WALLETS },
      ...columns,
      { heading: "Balance", path: "balance", describe: describeAmount("balance") },
      { heading: "Enabled", path: "enabled", as: "flag" },
      { heading: "Checked", path: "checkedAt", as: "time" },
    ],
    actions: [
      {
        name: "change",
        label: "Change",
        description:
          "Changes the amounts of the rule. The balance is checked again within a minute.",
        method: "PATCH",
        path,
        fields,
        fromRow: { id: "id" },
      },
      {
        name: "switch-off",
        label: "Switch off",
        description: "Stops the rule without deleting it.",
        method: "PATCH",
        path,
        fixed: { enabled: false },
        fromRow: { id: "id" },
        isApplicable: (row) => valueAt(row, "enabled") === true,
      },
      {
        name: "switch-on",
        label: "Switch on",
        description: "Follows the rule again.",
        method: "PATCH",
        path,
        fixed: { enabled: true },
        fromRow: { id: "id" },
        isApplicable: (row) => valueAt(row, "enabled") === false,
      },
      {
        name: "delete",
        label: "Delete",
        description: "Deletes the rule.",
        method: "DELETE",
        path,
        fromRow: { id: "id" },
        isFinal: true,
      },
    ],
  };
}
