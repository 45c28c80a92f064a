import { withTimeout } from "../timeout.ts";
import type { AppContext } from "./context.ts";
import { ApiError } from "./errors.ts";

const DEFAULT_DEADLINE_MS = 10_000;

/**
 * Runs a request under a deadline, so that no client waits longer for a dependency. Work already begun
 * continues in the background: a write may still apply, as a repeat under its `Idempotency-Key` shows.
 *
 * @param allowedMs - milliseconds; default: `REQUEST_DEADLINE_MS`, else 10 s
 * @throws ApiError 503 with Retry-After when the time is up
 */
export async function runWithDeadline<T>(
  c: AppContext,
  allowedMs: number | undefined,
  work: () => Promise<T>,
): Promise<T> {
  const ms = allowedMs ?? (Number(c.env.REQUEST_DEADLINE_MS) || DEFAULT_DEADLINE_MS);
  c.set("deadline", Date.now() + ms);
  return withTimeout(ms, work(), () => {
    throw new ApiError("deadline_exceeded", "The request took too long", { retryAfter: 2 });
  });
}
