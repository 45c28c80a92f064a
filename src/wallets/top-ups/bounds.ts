import { defaultPerDay, type TopUpBounds } from "./decide.ts";
import type { TopUpRuleRow } from "./tables.ts";

/** Native minor units. Less is not worth a transaction, and is below the minimum of an output. */
export const MIN_COIN = 2_000_000n;

/** The least that is sent of a unit at once, in minor units. */
export const leastOf = (unit: string): bigint => (unit === "" ? MIN_COIN : 1n);

/** A rule as numbers. */
export function boundsOf({
  unit,
  below,
  upTo,
  perDay,
}: Pick<TopUpRuleRow, "unit" | "below" | "upTo" | "perDay">): TopUpBounds {
  const bounds = { below: BigInt(below), upTo: BigInt(upTo), least: leastOf(unit) };
  return { ...bounds, perDay: perDay === null ? defaultPerDay(bounds) : BigInt(perDay) };
}
