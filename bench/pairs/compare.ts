/** What pairs of runs say of each figure: how much more the head takes than the base. */
import { median } from "../support/statistics.ts";
import type { Row } from "../support/table.ts";

/** The ratio above which a figure is marked. */
export const MAX_RATIO = 1.03;

/** Figures of one run by table, row and column. */
export type Figures = Record<string, number>;

/** One run of each version, one right after the other. */
export interface Pair {
  part: string;
  /** From 0. */
  number: number;
  base: Figures;
  head: Figures;
  /** The machine's average of a minute, at the end. */
  load?: number;
}

/**
 * The figures in what `--json` writes. A row is named by its texts. Rows with the same texts are numbered, so that
 * versions with the same rows agree.
 */
export function listFigures(results: Readonly<Record<string, readonly Row[]>>): Figures {
  const figures: Figures = {};
  for (const [table, rows] of Object.entries(results)) {
    const counts = new Map<string, number>();
    for (const row of rows) {
      const texts = Object.values(row).filter(isText);
      const name = [table, ...texts].join(" ");
      const count = (counts.get(name) ?? 0) + 1;
      counts.set(name, count);
      for (const [column, value] of Object.entries(row))
        if (value !== "" && !isText(value))
          figures[`${name}${count > 1 ? ` #${count}` : ""}: ${column}`] = Number(value);
    }
  }
  return figures;
}

/** Some figures are texts, such as "4.2", since their cells in other rows are empty. */
const isText = (value: Row[string]) => Number.isNaN(Number(value));

/**
 * A row for each figure that both versions have and that differs between any two runs. A ratio above 1 is a worse
 * head: of figures for each second, it is the base's by the head's.
 */
export function comparePairs(pairs: readonly Pair[]): Row[] {
  const parts = [...new Set(pairs.map(({ part }) => part))];
  return parts.flatMap((part) => {
    const ofPart = pairs.filter((pair) => pair.part === part);
    const names = [...new Set(ofPart.flatMap(({ base }) => Object.keys(base)))];
    return names.flatMap((name) => compareFigure(name, ofPart));
  });
}

function compareFigure(name: string, pairs: readonly Pair[]): Row[] {
  const both = pairs.flatMap(({ base: { [name]: base }, head: { [name]: head } }) =>
    base && head ? [{ base, head }] : [],
  );
  if (new Set(both.flatMap(({ base, head }) => [base, head])).size < 2) return [];
  const isRate = /(\/s|a second)$/.test(name);
  const ratios = both.map(({ base, head }) => (isRate ? base / head : head / base));
  const ratio = median(ratios);
  const { low, high } = findInterval(ratios);
  return [
    {
      figure: name,
      pairs: both.length,
      base: median(both.map(({ base }) => base)),
      head: median(both.map(({ head }) => head)),
      ratio: ratio.toFixed(3),
      interval: `${low.toFixed(2)} to ${high.toFixed(2)}`,
      slower: ratio <= MAX_RATIO ? "" : low > 1 ? "yes" : "perhaps",
    },
  ];
}

/**
 * The interval of the median of all possible values, whatever their distribution: at least 95 % sure from six values
 * on. It ends at the values that as many others are beyond as the binomial distribution allows.
 */
export function findInterval(values: readonly number[]): { low: number; high: number } {
  const sorted = values.toSorted((a, b) => a - b);
  const count = sorted.length;
  let left = 0;
  let outside = 2 * 0.5 ** count;
  for (let term = outside; left + 1 < count / 2; left++) {
    term *= (count - left) / (left + 1);
    if (outside + term > 0.05) break;
    outside += term;
  }
  const [low, high] = [sorted[left], sorted[count - 1 - left]];
  if (low === undefined || high === undefined) throw new RangeError("there are no values");
  return { low, high };
}
