import { log } from "../log.ts";
import type { AppContext } from "./context.ts";
import { ApiError } from "./errors.ts";
import { subscriberPrefixOf } from "./outbound/public-address.ts";

/** Seconds after which a caller certainly has calls again: the period of `RATE_LIMIT_BURST`. */
const RETRY_AFTER_S = 10;

/**
 * Limits a key that calls too often. Beyond its calls per minute (`RATE_LIMIT`) it keeps its calls per
 * ten seconds (`RATE_LIMIT_BURST`), so that the key is never locked out. The platform counts per
 * location and approximately. The limit stops a runaway client and is no accounting of calls.
 *
 * @throws ApiError 429 with Retry-After
 */
export async function enforceRateLimit(c: AppContext): Promise<void> {
  await limitCalls(c, c.var.caller.id, "Too many calls with this API key");
}

/**
 * Limits an unauthenticated address whose calls reach the database, at the same rates as a key.
 * Without the platform in front, which reports the address, no limit applies.
 *
 * @throws ApiError 429 with Retry-After
 */
export async function enforceAddressRateLimit(c: AppContext): Promise<void> {
  const address = c.req.header("cf-connecting-ip");
  if (address === undefined) return;
  await limitCalls(c, `address ${subscriberPrefixOf(address)}`, "Too many calls from this address");
}

async function limitCalls(c: AppContext, key: string, message: string): Promise<void> {
  const { RATE_LIMIT, RATE_LIMIT_BURST, RATE_LIMIT_POLICY } = c.env;
  // The platform tells only whether a call is one too many: what is left cannot be said.
  if (RATE_LIMIT_POLICY) c.header("ratelimit-policy", RATE_LIMIT_POLICY);
  try {
    for (const limit of [RATE_LIMIT, RATE_LIMIT_BURST])
      if (!limit || (await limit.limit({ key })).success) return;
  } catch (error) {
    // A failing rate limiter must not stop the service.
    log("warn", "rate_limit.unavailable", { requestId: c.var.requestId, error: String(error) });
    return;
  }
  if (RATE_LIMIT_POLICY) c.header("ratelimit", `"burst";r=0;t=${RETRY_AFTER_S}`);
  throw new ApiError(429, message, { retryAfter: RETRY_AFTER_S });
}
