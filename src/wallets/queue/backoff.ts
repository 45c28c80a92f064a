/** How features wait before a wallet tries a task again. */

/** After this many failed tries a task is given up. */
export const MAX_ATTEMPTS = 5;
/** How long a task waits for what is not its own fault, milliseconds. */
export const RETRY_DELAY_MS = 30_000;

const INITIAL_RETRY_DELAY_MS = 5_000;
const MAX_RETRY_DELAY_MS = 5 * 60_000;

/**
 * Until when a task waits for a provider that fails, epoch milliseconds: a few minutes at the most, whatever it
 * says. A new key may be set, or a deadline near; meanwhile the budget refuses without a call.
 *
 * @param retryAt - as a ProviderError has it
 */
export function computeProviderRetryAt(retryAt: number | null, now: number): number {
  return now + Math.min(Math.max((retryAt ?? now) - now, RETRY_DELAY_MS), MAX_RETRY_DELAY_MS);
}

/** Milliseconds to wait after so many failed tries; at least one. */
export function computeRetryDelay(failures: number): number {
  return Math.min(INITIAL_RETRY_DELAY_MS * 2 ** (failures - 1), MAX_RETRY_DELAY_MS);
}

/** The first of some times; null: there is none. */
export function findEarliestTime(times: readonly (number | null)[]): number | null {
  const known = times.filter((time) => time !== null);
  return known.length === 0 ? null : Math.min(...known);
}
