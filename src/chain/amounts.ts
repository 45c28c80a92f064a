import type { Funds } from "./network.ts";

/** The smallest collateral, in native minor units, that an output returning it could hold. */
export const MIN_COLLATERAL = 1_435_230n;

/**
 * Whether an escrow output has the agreed amounts: every token exactly, and at least the agreed native
 * coin on top of the collateral. The collateral is zero or at least `MIN_COLLATERAL`.
 */
export function hasAgreedAmounts(expected: Funds[], actual: Funds[], collateral: bigint): boolean {
  if (collateral !== 0n && collateral < MIN_COLLATERAL) return false;
  const free = totalOf(actual, "") - collateral;
  if (free < 0n) return false;
  return [...new Set(expected.map(({ unit }) => unit))].every((unit) => {
    const amount = totalOf(expected, unit);
    return unit === "" ? amount <= free : amount === totalOf(actual, unit);
  });
}

/** The amount of a unit in all funds together. */
function totalOf(funds: Funds[], unit: string): bigint {
  return funds.reduce((total, one) => (one.unit === unit ? total + one.amount : total), 0n);
}

/** Locked funds less the collateral, which goes back to the buyer in the end. */
export function subtractCollateral(funds: Funds[], collateral: bigint): Funds[] {
  return funds
    .map(({ unit, amount }) => ({ unit, amount: unit === "" ? amount - collateral : amount }))
    .filter(({ amount }) => amount > 0n);
}

/** Splits a fee (minor units) into `count` equal shares; the first takes the remainder. */
export function splitFee(fee: bigint, count: number): bigint[] {
  if (count < 1) return [];
  const share = fee / BigInt(count);
  const first = fee - share * BigInt(count - 1);
  return Array.from({ length: count }, (_, position) => (position === 0 ? first : share));
}
