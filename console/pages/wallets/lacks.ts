/** What a wallet lacks, and why. */
import { formatAmount, formatFunds } from "../../ui/format.ts";
import { textAt, valueAt } from "../../ui/path.ts";
import type { Funds } from "../escrow/sides.ts";

/** The API names a rule by its id, and its threshold in minor units. */
const RULE_REASON = /^below (\d+), the threshold of the rule \w+$/;

export function describeLackReason(lack: unknown): string {
  const reason = textAt(lack, "reason");
  const [, threshold] = RULE_REASON.exec(reason) ?? [];
  return threshold === undefined
    ? reason
    : `a balance rule warns below ${formatFunds(threshold, textAt(lack, "unit"))}`;
}

/** The native coins that a wallet lacks, in whole units; empty: none. */
export function formatLackingCoins(wallet: unknown): string {
  const missing = (valueAt(wallet, "Missing") ?? []) as Funds[];
  const coins = missing.find(({ unit }) => unit === "");
  return coins === undefined ? "" : formatAmount(coins.amount, "");
}
