import type { ChainClock } from "../chain/chain-time.ts";
import { hasMainnetSource } from "../db/mainnet-sources.ts";

/**
 * The clock that the variable `CHAIN_CLOCK` asks for: `tip`, or the wall clock when it says anything
 * else, or any source is on Mainnet.
 *
 * @param deadline - epoch milliseconds
 */
export async function chainClock(
  env: { DB: D1Database; CHAIN_CLOCK?: string },
  deadline: number,
): Promise<ChainClock> {
  if (env.CHAIN_CLOCK !== "tip" || (await hasMainnetSource(env, deadline))) return "wall";
  return "tip";
}
