/** What is done when a wallet's balance falls: somebody is told, or it is filled up. */

import { at } from "../../ui/path.ts";
import type { Column, Resource } from "../../ui/resource.ts";
import { WALLETS } from "../fields/known-ids.ts";

export const balanceRules: readonly Resource[] = [
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
];

function rules(
  name: string,
  title: string,
  path: string,
  about: string,
  columns: Column[],
): Resource {
  return {
    name,
    title,
    about,
    needs: "Admin",
    path,
    rows: "Rules",
    empty: "There is no rule. Make one at a wallet.",
    filters: [{ name: "walletId", label: "Wallet (id)", known: WALLETS }],
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
