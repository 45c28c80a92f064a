/** Differences between a quote and its lock, as a note of the service states them. */
import { formatFunds, formatUnit } from "../../ui/format.ts";
import { toWords } from "../../ui/words.ts";

export interface Difference {
  what: string;
  expected: string;
  found: string;
}

/** The note says them after a colon, with a semicolon between two. */
const REASONS = /(?:clear the error|locks other terms): (.+)$/;

const PATTERNS: readonly [RegExp, (match: RegExpExecArray) => Difference][] = [
  [
    /^(\d+) of the native coin are locked instead of (\d+)$/,
    ([, found = "", expected = ""]) => compareAmounts("", expected, found),
  ],
  [
    /^(\d+) of ([0-9a-f]+) are locked instead of (\d+)$/,
    ([, found = "", unit = "", expected = ""]) => compareAmounts(unit, expected, found),
  ],
  [
    /^the collateral is (\d+),.* at most (\d+) is allowed$/,
    ([, found = "", most = ""]) => ({
      what: "Collateral",
      expected: `at most ${formatFunds(most, "")}`,
      found: formatFunds(found, ""),
    }),
  ],
  [
    /^the collateral is below (\d+)$/,
    ([, least = ""]) => ({
      what: "Collateral",
      expected: `at least ${formatFunds(least, "")}`,
      found: "less",
    }),
  ],
  [
    /^the datum's state is (\w+), not (\w+)$/,
    ([, found = "", expected = ""]) => ({
      what: "State",
      expected: toWords(expected),
      found: toWords(found),
    }),
  ],
  [
    /^a cooldown is set before anyone acted$/,
    () => ({ what: "Cooldown", expected: "none before the first step", found: "already set" }),
  ],
  [
    /^the datum already carries a result$/,
    () => ({ what: "Result", expected: "none yet", found: "already there" }),
  ],
  [
    /^locked after payByTime$/,
    () => ({ what: "Time of the lock", expected: "by the last time to lock", found: "later" }),
  ],
  [
    /^the output carries a reference script$/,
    () => ({ what: "Reference script", expected: "none", found: "one in the output" }),
  ],
  [
    /^(?:the )?(.+) differs$/,
    ([, what = ""]) => ({
      what: what.charAt(0).toUpperCase() + what.slice(1),
      expected: "as in the quote",
      found: "another",
    }),
  ],
];

function compareAmounts(unit: string, expected: string, found: string): Difference {
  return {
    what: formatUnit(unit),
    expected: formatFunds(expected, unit),
    found: formatFunds(found, unit),
  };
}

/** The differences that a note of the service states. */
export function listDifferences(note: string): Difference[] {
  const reasons = REASONS.exec(note)?.[1]?.split("; ") ?? [];
  return reasons.map((reason) => {
    for (const [pattern, describe] of PATTERNS) {
      const match = pattern.exec(reason);
      if (match) return describe(match);
    }
    return { what: "Lock", expected: "as in the quote", found: reason };
  });
}
