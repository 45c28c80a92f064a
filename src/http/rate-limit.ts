import { log } from "../log.ts";
import type { AppContext } from "./context.ts";
import { ApiError } from "./errors.ts";

/** Seconds after which a key surely has calls again: the period of `RATE_LIMIT_BURST`. */
const RETRY_AFTER = 10;

/**
 * Brakes a key that calls too often: past its calls per minute (`RATE_LIMIT`) it still has those per
 * ten seconds (`RATE_LIMIT_BURST`), so it never stands still. The platform counts per location and
 * not exactly: this protects us from a runaway client and is no account of calls.
 *
 * @throws ApiError 429 with Retry-After
 */
export async function brake(c: AppContext): Promise<void> {
  const { RATE_LIMIT, RATE_LIMIT_BURST } = c.env;
  const key = c.var.caller.id;
  try {
    for (const limit of [RATE_LIMIT, RATE_LIMIT_BURST])
      if (!limit || (await limit.limit({ key })).success) return;
  } catch (error) {
    // A brake that fails must not stop the service.
    log("warn", "rate_limit.unavailable", { requestId: c.var.requestId, error: String(error) });
    return;
  }
  throw new ApiError(429, "Too many calls with this API key", { retryAfter: RETRY_AFTER });
}
