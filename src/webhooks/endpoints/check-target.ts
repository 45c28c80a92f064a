import type { Env } from "../../env.ts";
import { ApiError } from "../../http/errors.ts";
import { checkPublicTarget, PublicFetchError } from "../../http/outbound/fetch-public.ts";
import { listLoopbackOrigins } from "../../http/outbound/loopback-origins.ts";
import { abortAfter } from "../../timeout.ts";

const RESOLVER_TIMEOUT_MS = 5_000;

/**
 * Checks an endpoint's URL before it is stored. Each attempt checks it again, since the name may
 * resolve differently.
 *
 * @param deadline - epoch milliseconds
 * @throws ApiError 400; 503 when the name cannot be resolved
 */
export async function checkTarget(env: Env, text: string, deadline: number): Promise<void> {
  const rules = {
    loopbackOrigins: await listLoopbackOrigins(env, deadline),
    resolverUrl: env.DNS_OVER_HTTPS_URL,
  };
  try {
    await abortAfter(RESOLVER_TIMEOUT_MS, (signal) => checkPublicTarget(text, rules, signal));
  } catch (error) {
    if (error instanceof PublicFetchError) throw toTargetError(error);
    throw error;
  }
}

function toTargetError(cause: PublicFetchError): ApiError {
  const message = `url: ${cause.message}`;
  const error =
    cause.reason === "unresolved"
      ? new ApiError(503, message, { retryAfter: 5 })
      : new ApiError(400, message);
  error.cause = cause;
  return error;
}
