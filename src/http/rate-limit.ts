import type { AppContext } from "./context.ts";
import { ApiError } from "./errors.ts";

const MINUTE_MS = 60_000;
const BURST_MS = 10_000;
/** So many calls in any ten seconds are let through whatever the limit. */
export const BURST_CALLS = 300;
const DEFAULT_CALLS_PER_MINUTE = 3_000;
/** Keys counted at once; when there are more, those of past minutes are forgotten. */
const MAX_TRACKED_KEYS = 10_000;

interface Window {
  startedAt: number;
  calls: number;
}

/** Counts calls per key in windows of a minute and of ten seconds. */
export class RateLimiter {
  readonly #keys = new Map<string, { minute: Window; burst: Window }>();

  /**
   * Counts a call, unless the key has used up its minute and its burst.
   *
   * @param now - epoch milliseconds
   * @returns milliseconds until the next call is let through; 0: this one is
   */
  take(key: string, callsPerMinute: number, now: number): number {
    const counts = this.#counts(key, now);
    const left = counts.minute.calls < callsPerMinute || counts.burst.calls < BURST_CALLS;
    if (!left) return counts.burst.startedAt + BURST_MS - now;
    counts.minute.calls++;
    counts.burst.calls++;
    return 0;
  }

  #counts(key: string, now: number) {
    const known = this.#keys.get(key);
    const counts = {
      minute: current(known?.minute, MINUTE_MS, now),
      burst: current(known?.burst, BURST_MS, now),
    };
    if (!known && this.#keys.size >= MAX_TRACKED_KEYS) this.#forget(now);
    this.#keys.set(key, counts);
    return counts;
  }

  #forget(now: number): void {
    for (const [key, { minute }] of this.#keys)
      if (now - minute.startedAt >= MINUTE_MS) this.#keys.delete(key);
  }
}

function current(window: Window | undefined, length: number, now: number): Window {
  const live = window !== undefined && now - window.startedAt < length;
  return live ? window : { startedAt: now, calls: 0 };
}

const limiter = new RateLimiter();

/**
 * Brakes a key that calls too often. Each isolate counts for itself, so this protects us from a
 * runaway client and is no account of calls.
 *
 * @throws ApiError 429 with Retry-After
 */
export function brake(c: AppContext): void {
  const perMinute = Number(c.env.RATE_LIMIT_PER_MINUTE) || DEFAULT_CALLS_PER_MINUTE;
  const waitMs = limiter.take(c.var.caller.id, perMinute, Date.now());
  if (waitMs > 0)
    throw new ApiError(429, `At most ${perMinute} calls per minute`, {
      retryAfter: Math.ceil(waitMs / 1000),
    });
}
