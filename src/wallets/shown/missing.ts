import { isoTime } from "../../http/envelope.ts";
import type { Balance } from "../balances.ts";
import type { RuleRow } from "../low-balance/tables.ts";
import type { MissingFunds, ShownWallet } from "./schemas.ts";

/**
 * What a wallet holds less of than the rules that watch it ask for.
 *
 * @param balance - what it holds now; null: not known, so what the last checks found counts
 */
export function missingFunds(
  sendTo: string,
  rules: readonly RuleRow[],
  balance: Balance | null,
): MissingFunds[] {
  return rules.flatMap(({ id, unit, threshold, enabled, balance: checked }) => {
    const held = balance ? (balance.get(unit) ?? 0n) : checked === null ? null : BigInt(checked);
    if (!enabled || held === null || held >= BigInt(threshold)) return [];
    const amount = (BigInt(threshold) - held).toString();
    return [{ unit, amount, sendTo, reason: `below the threshold of the rule ${id}` }];
  });
}

/** What the last checks of a wallet's rules found. */
export function lowBalanceSummary(rules: readonly RuleRow[]): ShownWallet["LowBalanceSummary"] {
  const low = rules.filter(({ enabled, status }) => enabled && status === "Low");
  const checks = rules.flatMap(({ checkedAt }) => (checkedAt === null ? [] : [checkedAt]));
  return {
    isLow: low.length > 0,
    lowRuleCount: low.length,
    lastCheckedAt: checks.length > 0 ? isoTime(Math.max(...checks)) : null,
  };
}
