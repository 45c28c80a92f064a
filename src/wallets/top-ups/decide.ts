/** When a wallet is topped up, and by how much: pure. */

import type { TopUpRuleRow } from "../rules/tables.ts";

/** Amounts in minor units of one asset. */
export interface TopUpBounds {
  /** A balance below this is filled up … */
  below: bigint;
  /** … to this. */
  upTo: bigint;
  /** The most that is sent in any 24 hours. */
  perDay: bigint;
  /** The least that is sent at once. */
  minAmount: bigint;
}

/** A top-up from before, times in epoch milliseconds. */
export interface PastTopUp {
  amount: bigint;
  createdAt: number;
  /** When it was confirmed, or had failed; null: it is under way. */
  endedAt: number | null;
  hasFailed: boolean;
}

export type TopUpDecision =
  | { send: bigint }
  /** `until`: epoch milliseconds, where it is known. */
  | { waitsFor: "Nothing" | "Itself" | "Pause" | "Day"; until: number | null };

/** Between the end of a top-up and the next: a provider may show the former balance until then. */
export const PAUSE_MS = 10 * 60_000;
export const DAY_MS = 24 * 60 * 60_000;

/** Largest default of `perDay`, in times what one top-up brings at least. */
const DEFAULT_TOP_UPS_PER_DAY = 5n;

export function computeDefaultPerDay({ below, upTo }: Pick<TopUpBounds, "below" | "upTo">): bigint {
  return DEFAULT_TOP_UPS_PER_DAY * (upTo - below);
}

/** Native minor units. Less is not worth a transaction, and is below the minimum of an output. */
const MIN_TOP_UP_COIN = 2_000_000n;

/** The numbers of a rule. */
export function boundsOf(
  rule: Pick<TopUpRuleRow, "unit" | "below" | "upTo" | "perDay">,
): TopUpBounds {
  const minAmount = rule.unit === "" ? MIN_TOP_UP_COIN : 1n;
  const bounds = { below: BigInt(rule.below), upTo: BigInt(rule.upTo), minAmount };
  return {
    ...bounds,
    perDay: rule.perDay === null ? computeDefaultPerDay(bounds) : BigInt(rule.perDay),
  };
}

/**
 * Decides whether a wallet is topped up now. At most one top-up is pending, and the next starts ten
 * minutes later. All top-ups of 24 hours that did not fail sum to at most `perDay`.
 *
 * @param balance - minor units
 * @param past - of the last 24 hours, and pending ones
 * @param now - epoch milliseconds
 */
export function decideTopUp(
  { below, upTo, perDay, minAmount }: TopUpBounds,
  balance: bigint,
  past: readonly PastTopUp[],
  now: number,
): TopUpDecision {
  if (balance >= below) return { waitsFor: "Nothing", until: null };
  if (past.some(({ endedAt }) => endedAt === null)) return { waitsFor: "Itself", until: null };
  const lastEnd = Math.max(...past.map(({ endedAt }) => endedAt ?? 0));
  if (now < lastEnd + PAUSE_MS) return { waitsFor: "Pause", until: lastEnd + PAUSE_MS };
  const ofDay = past.filter(({ createdAt, hasFailed }) => !hasFailed && createdAt > now - DAY_MS);
  const left = ofDay.reduce((sum, { amount }) => sum - amount, perDay);
  const missing = upTo - balance;
  const amount = missing < left ? missing : left;
  if (amount >= minAmount) return { send: amount };
  const oldest = Math.min(...ofDay.map(({ createdAt }) => createdAt));
  return { waitsFor: "Day", until: oldest + DAY_MS };
}
