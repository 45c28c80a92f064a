/**
 * The clocks that show the time on the chain: the wall clock beside the tip, or only the tip. A chain
 * that lives in another time has only the tip.
 */
export type ChainClock = "wall" | "tip";

/** The time on the chain as of now, epoch milliseconds. */
export interface ChainTime {
  /** Of the tip: what must have begun by the rules of the chain is judged by it. */
  tipTime: number;
  /** By the clock that is behind: where a validity interval begins. */
  earliestTime: number;
  /** By the clock that is ahead: where one ends, and what a deadline must not be before. */
  latestTime: number;
}

/**
 * @param tipTime - of the block at the tip, Unix seconds
 * @param now - wall clock, epoch milliseconds
 */
export function computeChainTime(clock: ChainClock, tipTime: number, now: number): ChainTime {
  const tip = tipTime * 1000;
  if (clock === "tip") return { tipTime: tip, earliestTime: tip, latestTime: tip };
  return { tipTime: tip, earliestTime: Math.min(tip, now), latestTime: Math.max(tip, now) };
}
