import { type ChainClock, computeChainTime } from "../chain/chain-time.ts";
import type { Provider } from "../chain/provider/provider.ts";
import { hasMainnetSource } from "../db/mainnet-sources.ts";

/**
 * The clock that the variable `CHAIN_CLOCK` asks for: `tip`, or the wall clock when it says anything
 * else, or any source is on Mainnet.
 *
 * @param deadline - epoch milliseconds
 */
export async function resolveChainClock(
  env: { DB: D1Database; CHAIN_CLOCK?: string },
  deadline: number,
): Promise<ChainClock> {
  if (env.CHAIN_CLOCK !== "tip" || (await hasMainnetSource(env, deadline))) return "wall";
  return "tip";
}

/**
 * Tells the time on the chain as of the wall clock's: the same, or the tip's where the tip alone counts.
 *
 * @returns of epoch milliseconds, which throws ProviderError
 */
export function createChainTimeReader(
  clock: ChainClock,
  provider: Pick<Provider, "latestBlock">,
): (now: number) => Promise<number> {
  return async (now) =>
    clock === "wall"
      ? now
      : computeChainTime(clock, (await provider.latestBlock()).time, now).tipTime;
}
