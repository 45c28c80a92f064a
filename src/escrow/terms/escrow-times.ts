import { type ChainTime, computeChainTime } from "../../chain/chain-time.ts";
import type { Block, Provider } from "../../chain/provider/provider.ts";
import type { AppContext } from "../../http/context.ts";
import { ApiError } from "../../http/errors.ts";
import { resolveChainClock } from "../../sources/chain-clock.ts";
import {
  ESCROW_TIME_NAMES,
  type EscrowTimeName,
  type EscrowTimes,
} from "../model/escrow-record.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const MAX_AHEAD_MS = 365 * 24 * HOUR_MS;

/** The times of a quote: where it says nothing, unlock is 6 hours after the result, disputes are 12. */
export function withDefaultTimes({
  payByTime,
  submitResultTime,
  unlockTime = submitResultTime + 6 * HOUR_MS,
  externalDisputeUnlockTime = submitResultTime + 12 * HOUR_MS,
}: Pick<EscrowTimes<number>, "payByTime" | "submitResultTime"> & {
  unlockTime?: number | undefined;
  externalDisputeUnlockTime?: number | undefined;
}): EscrowTimes<number> {
  return { payByTime, submitResultTime, unlockTime, externalDisputeUnlockTime };
}

/**
 * Checks that an escrow's times leave everybody the time to act. With `isQuoted` a refusal advises
 * another quote.
 *
 * @param now - epoch milliseconds
 * @throws ApiError 400 with the field and the first or last allowed time
 */
export function checkTimes(
  times: EscrowTimes<number>,
  now: number,
  { isQuoted = false }: { isQuoted?: boolean } = {},
): void {
  const { submitResultTime, unlockTime } = times;
  const requireAtLeast = (field: EscrowTimeName, first: number, why: string, advice = "") => {
    if (times[field] >= first) return;
    const message = `${field}: must be at least ${why}, from ${formatTime(first)} on${advice}`;
    throw new ApiError(advice ? "quote_expired" : 400, message);
  };
  const requireAtMost = (field: EscrowTimeName, last: number, why: string) => {
    if (times[field] > last)
      throw new ApiError(400, `${field}: must be at most ${why}, up to ${formatTime(last)}`);
  };
  const requireAhead = (field: EscrowTimeName, minutes: number) =>
    requireAtLeast(
      field,
      now + minutes * MINUTE_MS,
      `${minutes} minutes ahead`,
      isQuoted ? "; the quote has expired: request another" : "",
    );
  const lastPayByTime = submitResultTime - 5 * MINUTE_MS;
  requireAtMost("payByTime", lastPayByTime, "5 minutes before submitResultTime");
  requireAhead("payByTime", 2);
  const firstDisputeTime = unlockTime + 15 * MINUTE_MS;
  requireAtLeast("externalDisputeUnlockTime", firstDisputeTime, "15 minutes after unlockTime");
  requireAhead("submitResultTime", 15);
  const lastSubmitTime = unlockTime - 15 * MINUTE_MS;
  requireAtMost("submitResultTime", lastSubmitTime, "15 minutes before unlockTime");
  for (const field of ESCROW_TIME_NAMES) requireAtMost(field, now + MAX_AHEAD_MS, "a year ahead");
}

/** A bound may lie beyond what a date can print. */
function formatTime(milliseconds: number): string {
  const date = new Date(milliseconds);
  return Number.isNaN(date.getTime()) ? `${milliseconds} ms` : date.toISOString();
}

/** Shorter than two cooldowns and the blocks between them, a buyer may have no time to object. */
const MIN_DISPUTE_TIME_MS = 45 * MINUTE_MS;

/** What is allowed but not advisable about an escrow's times. */
export function collectTimeWarnings({
  submitResultTime,
  unlockTime,
}: EscrowTimes<number>): string[] {
  if (unlockTime - submitResultTime >= MIN_DISPUTE_TIME_MS) return [];
  return [
    "unlockTime: is less than 45 minutes after submitResultTime, so a buyer may be unable to object to a late result",
  ];
}

type TipProvider = Pick<Provider, "latestBlock">;

/** A chain whose newest block is older stands still, or its provider does. */
const TIP_MAX_AGE_MS = 15 * 60_000;
const TIP_CACHE_TTL_MS = 10_000;
const MAX_CACHED_TIPS = 1_000;

/** Tips by source: many requests at a time ask the provider once. */
const tipCache = new Map<string, { block: Block; until: number }>();

/**
 * What a deadline must not be before, epoch milliseconds; a chain in another time is asked for it.
 *
 * @param now - epoch milliseconds
 * @throws ProviderError
 */
export async function readLatestTime(
  c: AppContext,
  provider: TipProvider,
  now: number,
): Promise<number> {
  if ((await resolveChainClock(c.env, c.var.deadline)) === "wall") return now;
  return computeChainTime("tip", (await provider.latestBlock()).time, now).latestTime;
}

/**
 * The same, for what needs a chain that moves.
 *
 * @param sourceId - the payment source whose provider it is
 * @throws ApiError 503 when the newest block is older than 15 minutes; ProviderError
 */
export async function readLatestLiveTime(
  c: AppContext,
  provider: TipProvider,
  sourceId: string,
  now: number,
): Promise<number> {
  return (await readLiveChainTime(c, provider, sourceId, now)).latestTime;
}

/**
 * Reads the time of a chain that moves, by all of its clocks.
 *
 * @param needsTip - whether the tip must be read anew
 * @throws ApiError 503; ProviderError
 */
export async function readLiveChainTime(
  c: AppContext,
  provider: TipProvider,
  sourceId: string,
  now: number,
  needsTip = false,
): Promise<ChainTime> {
  if ((await resolveChainClock(c.env, c.var.deadline)) === "tip")
    return computeChainTime("tip", (await provider.latestBlock()).time, now);
  if (needsTip) tipCache.delete(sourceId);
  const { time } = await readRecentTip(provider, sourceId, now);
  if (now - time * 1000 > TIP_MAX_AGE_MS)
    throw new ApiError(503, "The chain provider shows no block of the last 15 minutes", {
      retryAfter: 60,
    });
  return computeChainTime("wall", time, now);
}

async function readRecentTip(provider: TipProvider, sourceId: string, now: number): Promise<Block> {
  const cached = tipCache.get(sourceId);
  if (cached && cached.until > now) return cached.block;
  const block = await provider.latestBlock();
  if (tipCache.size >= MAX_CACHED_TIPS) tipCache.clear();
  tipCache.set(sourceId, { block, until: now + TIP_CACHE_TTL_MS });
  return block;
}
