import { ProviderError } from "../chain/provider/provider.ts";
import { MAX_TRIES, pauseAfter, providerAgainAt, WAIT_MS } from "./pauses.ts";
import { NotYet } from "./spending/making/window.ts";
import { FormerMayLand } from "./work.ts";

/**
 * How long a task waits that could not be built through no fault of its own; null: it has failed.
 *
 * @param now - epoch milliseconds, as `dueAt` is
 */
export function waitOf(error: unknown, now: number): { error: string; dueAt: number } | null {
  if (error instanceof NotYet) return { error: error.message, dueAt: error.until };
  if (error instanceof ProviderError && !error.permanent)
    return {
      error: `waits for the chain provider: ${error.message}`,
      dueAt: providerAgainAt(error.retryAt, now),
    };
  if (error instanceof FormerMayLand)
    return { error: `waits for the chain: ${error.message}`, dueAt: now + WAIT_MS };
  return null;
}

/**
 * What becomes of a task after one more failed try.
 *
 * @param before - how many had failed
 * @param givenUp - its state after the last
 */
export function afterTry<State extends string>(
  before: number,
  error: string,
  now: number,
  givenUp: State,
): { error: string; failures: number; dueAt: number | null; state?: State } {
  const failures = before + 1;
  if (failures < MAX_TRIES) return { error, failures, dueAt: now + pauseAfter(failures) };
  return { state: givenUp, error, failures, dueAt: null };
}
