import { type ChainTime, chainTime } from "../../chain/chain-time.ts";
import type { Block, Provider } from "../../chain/provider/provider.ts";
import type { AppContext } from "../../http/context.ts";
import { ApiError } from "../../http/errors.ts";
import { chainClock } from "../../sources/chain-clock.ts";

type Tip = Pick<Provider, "latestBlock">;

/** A chain whose newest block is older stands still, or its provider does. */
const OLDEST_TIP_MS = 15 * 60_000;
const CACHED_MS = 10_000;
const CACHED_TIPS = 1_000;

/** Tips by source: many requests at a time ask the provider once. */
const tips = new Map<string, { block: Block; until: number }>();

/**
 * What a deadline must not be before, epoch milliseconds; a chain in another time is asked for it.
 *
 * @param now - epoch milliseconds
 * @throws ProviderError
 */
export async function latestTime(c: AppContext, provider: Tip, now: number): Promise<number> {
  if ((await chainClock(c.env, c.var.deadline)) === "wall") return now;
  return chainTime("tip", (await provider.latestBlock()).time, now).latest;
}

/**
 * The same, for what needs a chain that moves.
 *
 * @param sourceId - the payment source whose provider it is
 * @throws ApiError 503 when the newest block is older than 15 minutes; ProviderError
 */
export async function timeOfMovingChain(
  c: AppContext,
  provider: Tip,
  sourceId: string,
  now: number,
): Promise<number> {
  return (await movingChainTime(c, provider, sourceId, now)).latest;
}

/**
 * The time of a chain that moves, by all of its clocks.
 *
 * @param needsTip - whether the tip itself counts: then no earlier answer stands for it
 * @throws ApiError 503; ProviderError
 */
export async function movingChainTime(
  c: AppContext,
  provider: Tip,
  sourceId: string,
  now: number,
  needsTip = false,
): Promise<ChainTime> {
  if ((await chainClock(c.env, c.var.deadline)) === "tip")
    return chainTime("tip", (await provider.latestBlock()).time, now);
  if (needsTip) tips.delete(sourceId);
  const { time } = await recentTip(provider, sourceId, now);
  if (now - time * 1000 > OLDEST_TIP_MS)
    throw new ApiError(503, "The chain provider shows no block of the last 15 minutes", {
      retryAfter: 60,
    });
  return chainTime("wall", time, now);
}

async function recentTip(provider: Tip, sourceId: string, now: number): Promise<Block> {
  const cached = tips.get(sourceId);
  if (cached && cached.until > now) return cached.block;
  const block = await provider.latestBlock();
  if (tips.size >= CACHED_TIPS) tips.clear();
  tips.set(sourceId, { block, until: now + CACHED_MS });
  return block;
}
