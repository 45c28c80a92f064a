const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;

/** Waits after the first, second … failed attempt: ten attempts in 75 h 35 min 5 s. */
const RETRY_DELAYS_MS: readonly number[] = [
  5 * SECOND_MS,
  5 * MINUTE_MS,
  30 * MINUTE_MS,
  2 * HOUR_MS,
  5 * HOUR_MS,
  10 * HOUR_MS,
  14 * HOUR_MS,
  20 * HOUR_MS,
  24 * HOUR_MS,
];

/** From the first attempt of a delivery to the last, milliseconds. */
export const SCHEDULE_DURATION_MS = RETRY_DELAYS_MS.reduce((sum, wait) => sum + wait, 0);

/** Waits are randomly shortened by up to this share, so that simultaneous failures spread out. */
const JITTER_RATIO = 0.2;
const MAX_RETRY_AFTER_MS = 24 * HOUR_MS;

/**
 * When a delivery is tried again.
 *
 * @param failedAttempts - how many have failed so far, 1 or more
 * @param now - epoch milliseconds
 * @param retryAfterMs - the receiver's minimum, at most 24 h
 * @param random - in [0, 1)
 * @returns epoch milliseconds; null: no attempt is left
 */
export function computeNextAttemptAt(
  failedAttempts: number,
  now: number,
  retryAfterMs: number | null = null,
  random = Math.random(),
): number | null {
  const wait = RETRY_DELAYS_MS[failedAttempts - 1];
  if (wait === undefined) return null;
  const jittered = Math.ceil(wait * (1 - JITTER_RATIO * random));
  return now + Math.max(jittered, Math.min(retryAfterMs ?? 0, MAX_RETRY_AFTER_MS));
}

/** Answers that may set `Retry-After`; on others we ignore it. */
const RETRY_AFTER_STATUSES: readonly number[] = [429, 502, 503, 504];

/**
 * The wait that an answer requests by `Retry-After`, in seconds or as an HTTP date (RFC 9110
 * §10.2.3). Null when it requests none.
 *
 * @param now - epoch milliseconds
 */
export function readRetryAfterMs(status: number, headers: Headers, now: number): number | null {
  const value = headers.get("retry-after")?.trim();
  if (!value || !RETRY_AFTER_STATUSES.includes(status)) return null;
  if (/^\d{1,9}$/.test(value)) return Number(value) * SECOND_MS;
  const at = Date.parse(value);
  return Number.isNaN(at) ? null : Math.max(at - now, 0);
}
