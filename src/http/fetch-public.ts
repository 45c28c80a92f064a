import { abortAfter } from "../timeout.ts";
import { isPublicAddress, isPublicName } from "./public-address.ts";
import { DEFAULT_RESOLVER_URL, dnsOverHttps, type Resolver } from "./resolve.ts";

/** Why a guarded fetch gave nothing; the message may be shown to whoever chose the URL. */
export class PublicFetchError extends Error {
  override name = "PublicFetchError";
  /**
   * `refused`: the URL is not allowed. `unresolved`: the resolver did not say what is behind the
   * name. With either no request was sent.
   */
  readonly reason: "refused" | "unresolved" | "timeout" | "too-large" | "unreachable";

  constructor(reason: PublicFetchError["reason"], message: string, cause?: unknown) {
    super(message, { cause });
    this.reason = reason;
  }
}

/** What an URL that others chose may look like. */
export interface PublicUrlRules {
  /** `http:` as well as `https:`. Default: only `https:`. */
  allowHttp?: boolean;
  /** Development: loopback origins that may be reached. See `Env.LOOPBACK_ORIGINS`. */
  loopbackOrigins?: readonly string[];
}

/**
 * Checks an URL that others chose: scheme, default port, a public name for a host, no user or
 * password in it.
 *
 * @throws PublicFetchError `refused`
 */
export function checkPublicUrl(text: string, rules: PublicUrlRules = {}): URL {
  const refused = (why: string) => new PublicFetchError("refused", why);
  if (!URL.canParse(text)) throw refused("must be a URL");
  const url = new URL(text);
  if (url.username || url.password) throw refused("must not hold a user or a password");
  if (isAllowedLoopback(url, rules.loopbackOrigins ?? [])) return url;
  if (url.protocol !== "https:" && !(rules.allowHttp && url.protocol === "http:"))
    throw refused(rules.allowHttp ? "must be an http or https URL" : "must be an https URL");
  // The parser drops the scheme's own port.
  if (url.port !== "") throw refused("must use the default port");
  if (!isPublicName(url.hostname)) throw refused("must have a public host name");
  return url;
}

/** Only addresses of this machine: the variable can open nothing else by mistake. */
function isAllowedLoopback(url: URL, origins: readonly string[]): boolean {
  const isLoopback = /^(127(\.\d+){3}|localhost|\[::1\])$/.test(url.hostname);
  return isLoopback && /^https?:$/.test(url.protocol) && origins.includes(url.origin);
}

/** What is behind an URL that others chose, and how that is found out. */
export interface PublicTargetRules extends PublicUrlRules {
  /** The DNS-over-HTTPS resolver that is asked; see `Env.DNS_OVER_HTTPS_URL`. */
  resolverUrl?: string | undefined;
  /** In place of the resolver. */
  resolve?: Resolver;
}

/**
 * Checks an URL that others chose as `checkPublicUrl` does, and that its name resolves to public
 * addresses only, all of them. The name may move afterwards: whoever stores the URL has it checked
 * again by each `fetchPublic`.
 *
 * @param signal - ends the question to the resolver
 * @throws PublicFetchError `refused`; `unresolved`; `unreachable` for a name without an address
 */
export async function checkPublicTarget(
  text: string,
  rules: PublicTargetRules,
  signal: AbortSignal,
): Promise<URL> {
  const url = checkPublicUrl(text, rules);
  if (isAllowedLoopback(url, rules.loopbackOrigins ?? [])) return url;
  const resolve = rules.resolve ?? dnsOverHttps(rules.resolverUrl ?? DEFAULT_RESOLVER_URL);
  const addresses = await resolve(url.hostname, signal).catch((error: unknown) => {
    throw new PublicFetchError("unresolved", "the name resolver did not answer", error);
  });
  if (addresses.length === 0)
    throw new PublicFetchError("unreachable", "the host name has no address");
  if (!addresses.every(isPublicAddress))
    throw new PublicFetchError("refused", "must resolve to public addresses only");
  return url;
}

export interface PublicFetchOptions extends PublicTargetRules {
  method?: string;
  headers?: Record<string, string>;
  body?: string;
  /** Milliseconds for everything, the body included. */
  timeoutMs: number;
  /** Bytes of the answer's body. */
  maxBytes: number;
  /** `refuse` (default) fails on a larger body, `cut` returns its beginning. */
  whenLarger?: "refuse" | "cut";
}

/** The answer of a guarded fetch. Redirects are not followed: a 3xx is an answer like any other. */
export interface PublicResponse {
  status: number;
  headers: Headers;
  body: Uint8Array;
}

/**
 * Fetches an URL that others chose: an agent, an inbox provider, a webhook receiver, an RPC node.
 * The only way out to such addresses. The URL is checked each time; the runtime resolves its name
 * once more when it connects, which `global_fetch_strictly_public` covers. Sends no cookie, follows
 * no redirect, reads no more than it must, and is over in time.
 *
 * @throws PublicFetchError
 */
export function fetchPublic(text: string, options: PublicFetchOptions): Promise<PublicResponse> {
  return abortAfter(options.timeoutMs, (signal) => fetchUntil(text, options, signal));
}

async function fetchUntil(
  text: string,
  options: PublicFetchOptions,
  signal: AbortSignal,
): Promise<PublicResponse> {
  const url = await checkPublicTarget(text, options, signal);
  try {
    const response = await globalThis.fetch(url, {
      method: options.method ?? "GET",
      headers: options.headers ?? {},
      redirect: "manual",
      signal,
      ...(options.body !== undefined && { body: options.body }),
    });
    const body = await readUpTo(response, options.maxBytes, options.whenLarger ?? "refuse");
    return { status: response.status, headers: response.headers, body };
  } catch (error) {
    if (error instanceof PublicFetchError) throw error;
    if (signal.aborted)
      throw new PublicFetchError("timeout", `no answer within ${options.timeoutMs} ms`, error);
    throw new PublicFetchError("unreachable", "the host could not be reached", error);
  }
}

async function readUpTo(
  response: Response,
  maxBytes: number,
  whenLarger: "refuse" | "cut",
): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let left = maxBytes;
  // Leaving the loop early cancels the stream, which frees the connection.
  for await (const chunk of response.body ?? []) {
    chunks.push(chunk.subarray(0, left));
    left -= chunk.byteLength;
    if (left >= 0) continue;
    if (whenLarger === "cut") break;
    throw new PublicFetchError("too-large", `the answer is larger than ${maxBytes} bytes`);
  }
  return Buffer.concat(chunks);
}
