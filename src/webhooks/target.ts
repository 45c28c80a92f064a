import type { Env } from "../env.ts";
import { ApiError } from "../http/errors.ts";
import { checkPublicUrl, PublicFetchError } from "../http/fetch-public.ts";
import { isPublicAddress, isPublicName } from "../http/public-address.ts";
import { DEFAULT_RESOLVER_URL, dnsOverHttps } from "../http/resolve.ts";
import { loopbackOrigins } from "../sources/development.ts";

const RESOLVER_TIMEOUT_MS = 5_000;

/**
 * Checks where an endpoint wants its events, before it is stored. The same is checked again before
 * each attempt, since a name may have moved to other addresses by then.
 *
 * @param deadline - epoch milliseconds
 * @throws ApiError 400; 503 when the name cannot be resolved
 */
export async function checkTarget(env: Env, text: string, deadline: number): Promise<void> {
  const { hostname } = await parseTarget(env, text, deadline);
  // A loopback origin of development: it passed although its host is no public name.
  if (!isPublicName(hostname)) return;
  const addresses = await resolve(env, hostname);
  if (addresses.length === 0) throw new ApiError(400, "url: the host name has no address");
  if (!addresses.every(isPublicAddress))
    throw new ApiError(400, "url: must resolve to public addresses only");
}

async function parseTarget(env: Env, text: string, deadline: number): Promise<URL> {
  try {
    return checkPublicUrl(text, { loopbackOrigins: await loopbackOrigins(env, deadline) });
  } catch (error) {
    if (error instanceof PublicFetchError) throw new ApiError(400, `url: ${error.message}`);
    throw error;
  }
}

async function resolve(env: Env, hostname: string): Promise<string[]> {
  try {
    return await dnsOverHttps(env.DNS_OVER_HTTPS_URL ?? DEFAULT_RESOLVER_URL)(
      hostname,
      AbortSignal.timeout(RESOLVER_TIMEOUT_MS),
    );
  } catch (cause) {
    const error = new ApiError(503, "url: the name resolver did not answer", { retryAfter: 5 });
    error.cause = cause;
    throw error;
  }
}
