import { log } from "../log.ts";
import type { AppContext } from "./context.ts";
import { ApiError } from "./errors.ts";
import { subscriberOf } from "./public-address.ts";

/** Seconds after which a caller surely has calls again: the period of `RATE_LIMIT_BURST`. */
const RETRY_AFTER = 10;

/**
 * Brakes a key that calls too often: past its calls per minute (`RATE_LIMIT`) it still has those per
 * ten seconds (`RATE_LIMIT_BURST`), so it never stands still. The platform counts per location and
 * not exactly: this protects us from a runaway client and is no account of calls.
 *
 * @throws ApiError 429 with Retry-After
 */
export async function brake(c: AppContext): Promise<void> {
  await brakeAs(c, c.var.caller.id, "Too many calls with this API key");
}

/**
 * Brakes an address whose calls reach the database although nobody knows who it is, by the numbers of
 * a key. Without the platform in front, which tells the address, nobody is braked.
 *
 * @throws ApiError 429 with Retry-After
 */
export async function brakeStranger(c: AppContext): Promise<void> {
  const address = c.req.header("cf-connecting-ip");
  if (address === undefined) return;
  await brakeAs(c, `address ${subscriberOf(address)}`, "Too many calls from this address");
}

async function brakeAs(c: AppContext, key: string, message: string): Promise<void> {
  const { RATE_LIMIT, RATE_LIMIT_BURST } = c.env;
  try {
    for (const limit of [RATE_LIMIT, RATE_LIMIT_BURST])
      if (!limit || (await limit.limit({ key })).success) return;
  } catch (error) {
    // A brake that fails must not stop the service.
    log("warn", "rate_limit.unavailable", { requestId: c.var.requestId, error: String(error) });
    return;
  }
  throw new ApiError(429, message, { retryAfter: RETRY_AFTER });
}
