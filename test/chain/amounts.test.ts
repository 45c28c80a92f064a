import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { hasAgreedAmounts, MIN_COLLATERAL, splitFee } from "../../src/chain/amounts.ts";

const TOKEN = `${"ab".repeat(28)}01`;
const native = (amount: bigint) => ({ unit: "", amount });
const tokens = (amount: bigint) => ({ unit: TOKEN, amount });

describe("hasAgreedAmounts", () => {
  it.each([
    ["exactly what was agreed", [native(10n)], [native(10n)], 0n, true],
    ["more of the native coin", [native(10n)], [native(11n)], 0n, true],
    ["less of the native coin", [native(10n)], [native(9n)], 0n, false],
    ["none of a token", [tokens(5n)], [native(10n)], 0n, false],
    ["exactly the tokens", [tokens(5n)], [native(10n), tokens(5n)], 0n, true],
    ["more tokens", [tokens(5n)], [native(10n), tokens(6n)], 0n, false],
    [
      "two agreed amounts of one unit, each alone there",
      [native(6n), native(6n)],
      [native(10n)],
      0n,
      false,
    ],
    [
      "the agreed amount only with the collateral",
      [native(9n)],
      [native(MIN_COLLATERAL)],
      MIN_COLLATERAL,
      false,
    ],
    [
      "the agreed amount on top of the collateral",
      [native(9n)],
      [native(MIN_COLLATERAL + 9n)],
      MIN_COLLATERAL,
      true,
    ],
    ["less than the collateral", [], [native(MIN_COLLATERAL - 1n)], MIN_COLLATERAL, false],
    [
      "a collateral that is too small for an output",
      [],
      [native(10_000_000n)],
      MIN_COLLATERAL - 1n,
      false,
    ],
    ["a negative collateral", [], [native(10_000_000n)], -1n, false],
  ])("%s", (_, expected, actual, collateral, ok) => {
    expect(hasAgreedAmounts(expected, actual, collateral)).toBe(ok);
  });
});

describe("splitFee", () => {
  it("gives the first share what is left over", () => {
    expect(splitFee(10n, 3)).toEqual([4n, 3n, 3n]);
  });

  it("splits among nobody into nothing", () => {
    expect(splitFee(10n, 0)).toEqual([]);
  });

  it("loses nothing", () => {
    fc.assert(
      fc.property(
        fc.bigInt({ min: 0n, max: 10n ** 12n }),
        fc.integer({ min: 1, max: 40 }),
        (fee, count) => {
          const shares = splitFee(fee, count);
          expect(shares).toHaveLength(count);
          expect(shares.reduce((a, b) => a + b)).toBe(fee);
        },
      ),
    );
  });
});
