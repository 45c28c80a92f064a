import { inject } from "vitest";

/** How thorough a run of the tests is: a sample by `npm test`, everything by `npm run test:long`. */
export interface Effort {
  isLong: boolean;
  /** A whole number from 0 to 2³¹ - 1, from which samples and the inputs of properties follow. */
  seed: number;
}

declare module "vitest" {
  interface ProvidedContext {
    effort: Effort;
  }
}

const { isLong, seed } = inject("effort");

/** One of the two, by the effort of this run. */
export const sized = <T>(short: T, long: T): T => (isLong ? long : short);

/** Parameters for `fc.assert`: how many inputs a property is tried with. */
export const runs = (short: number, long: number) => ({ numRuns: sized(short, long) });

/**
 * Samples the cases of a table. A long run gets all of them. A short run gets each `stride`-th.
 *
 * @param turn - index of the first, to which the seed is added
 */
export function sampled<T>(stride: number, cases: readonly T[], turn = 0): T[] {
  const first = (seed + turn) % Math.min(stride, Math.max(cases.length, 1));
  return cases.filter((_, i) => isLong || i % stride === first);
}

/**
 * Samples the cases of a table as `sampled` does. A short run also gets the first case of each kind
 * that the sample lacks.
 */
export function sampledOfEach<T>(
  stride: number,
  cases: readonly T[],
  kindOf: (one: T) => string | undefined,
): T[] {
  const sample = new Set(sampled(stride, cases));
  const kinds = new Set([...sample].map(kindOf));
  for (const one of cases) {
    if (!kinds.has(kindOf(one))) sample.add(one);
    kinds.add(kindOf(one));
  }
  return cases.filter((one) => sample.has(one));
}

/**
 * Pairs elements of `others` and `each`. A long run gets all pairs. A short run gets one pair for
 * each element of `each`, with the `others` in turn.
 *
 * @param turn - index of the first of the others
 */
export function paired<A, B>(each: readonly A[], others: readonly B[], turn = 0) {
  return each.flatMap((one, i) =>
    others
      .filter((_, j) => isLong || j === (i + turn) % others.length)
      .map((other) => [other, one] as const),
  );
}

let sweeps = 0;

/**
 * The steps at which a story is disturbed, counted from 1. A long run gets all steps, a short run
 * each `stride`-th. The first step differs for each sweep of a file.
 *
 * @param total - steps of the story; omitted: the caller ends the sweep
 */
export function* sweep(stride: number, total = Number.POSITIVE_INFINITY): Generator<number> {
  const first = isLong ? 1 : 1 + ((seed + sweeps++) % Math.min(stride, total));
  for (let k = first; k <= total; k += isLong ? 1 : stride) yield k;
}
