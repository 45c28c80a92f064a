import { toIsoTime } from "../../http/envelope.ts";
import type { Balance } from "../managed/read-balances.ts";
import { MIN_FUNDING_COIN, type WaitingTask } from "../queue/waiting-tasks.ts";
import type { BalanceRuleRow } from "../rules/tables.ts";
import type { MissingFunds, WalletResponse } from "./response-schemas.ts";

/**
 * Lists the amounts by which a wallet is below its low-balance rules.
 *
 * @param balance - the present balance. Null: unknown, so the last check counts.
 */
export function listMissingFunds(
  sendTo: string,
  rules: readonly BalanceRuleRow[],
  balance: Balance | null,
): MissingFunds[] {
  return rules.flatMap(({ id, unit, threshold, enabled, balance: checked }) => {
    const held = balance ? (balance.get(unit) ?? 0n) : checked === null ? null : BigInt(checked);
    if (!enabled || held === null || held >= BigInt(threshold)) return [];
    const amount = (BigInt(threshold) - held).toString();
    return [
      { unit, amount, sendTo, reason: `below ${threshold}, the threshold of the rule ${id}` },
    ];
  });
}

/** Native minor units that the smallest transaction costs. */
const MIN_FEE = 160_000n;

/**
 * What a wallet can spend less of than the tasks that wait for it need.
 *
 * @param spendable - after all of its transactions that live; null: not known
 */
export function listMissingFundsForTasks(
  sendTo: string,
  waiting: readonly WaitingTask[],
  spendable: Balance | null,
): MissingFunds[] {
  const needed = new Map<string, { amount: bigint; tasks: number }>();
  for (const { needs } of waiting)
    for (const { unit, amount } of needs ?? []) {
      const { amount: sum, tasks } = needed.get(unit) ?? { amount: 0n, tasks: 0 };
      needed.set(unit, { amount: sum + amount, tasks: tasks + 1 });
    }
  if (spendable === null) return [];
  return [...needed].flatMap(([unit, { amount, tasks }]) => {
    const available = spendable.get(unit) ?? 0n;
    const fee = unit === "" ? MIN_FEE : 0n;
    const least = unit === "" && available === 0n ? MIN_FUNDING_COIN : 0n;
    const shortfall = amount + fee - available;
    const lacking = shortfall > least ? shortfall : least;
    const reason = tasks === 1 ? "for a task that waits" : `for ${tasks} tasks that wait`;
    return lacking > 0n ? [{ unit, amount: lacking.toString(), sendTo, reason }] : [];
  });
}

/** What the last checks of a wallet's rules found. */
export function summarizeLowBalances(
  rules: readonly BalanceRuleRow[],
): WalletResponse["LowBalanceSummary"] {
  const low = rules.filter(({ enabled, status }) => enabled && status === "Low");
  const checks = rules.flatMap(({ checkedAt }) => (checkedAt === null ? [] : [checkedAt]));
  return {
    isLow: low.length > 0,
    lowRuleCount: low.length,
    lastCheckedAt: checks.length > 0 ? toIsoTime(Math.max(...checks)) : null,
  };
}
