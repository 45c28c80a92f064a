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
 * Pairs of an element of `others` and one of `each`: all of them in a long run, otherwise one pair for
 * each of `each`, for which the `others` take turns.
 *
 * @param turn - which of the others begins; pairings that begin differently complement each other
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
 * The steps at which a story is disturbed, counted from 1: all of them in a long run, otherwise each
 * `stride`-th. The first is another one in each sweep of a file, so that sweeps over the same steps
 * complement each other.
 *
 * @param total - steps of the story; unless it is known, the caller ends the sweep
 */
export function* sweep(stride: number, total = Number.POSITIVE_INFINITY): Generator<number> {
  const first = isLong ? 1 : 1 + ((seed + sweeps++) % Math.min(stride, total));
  for (let k = first; k <= total; k += isLong ? 1 : stride) yield k;
}
