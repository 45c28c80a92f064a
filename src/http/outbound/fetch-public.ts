import * as z from "zod";
import { abortAfter } from "../../timeout.ts";
import { isPublicAddress, isPublicHostname } from "./public-address.ts";

/** Why a guarded fetch failed; the message may be shown to whoever chose the URL. */
export class PublicFetchError extends Error {
  override name = "PublicFetchError";
  /**
   * `createRefusal`: the URL is not allowed. `unresolved`: the resolver did not resolve the name. In
   * either case no request was sent.
   */
  readonly reason: "refused" | "unresolved" | "timeout" | "too-large" | "unreachable";

  constructor(reason: PublicFetchError["reason"], message: string, cause?: unknown) {
    super(message, { cause });
    this.reason = reason;
  }
}

/** What a user-supplied URL may look like. */
interface PublicUrlRules {
  /** `http:` as well as `https:`. Default: only `https:`. */
  allowHttp?: boolean;
  /** Development: loopback origins that may be reached. See `Env.LOOPBACK_ORIGINS`. */
  loopbackOrigins?: readonly string[];
  /** Origins that the deployment lists, on any host and port. See `Env.PROVIDER_ORIGINS`. */
  trustedOrigins?: readonly string[];
}

/**
 * Checks a user-supplied URL: scheme, default port, a public host name, no user or password.
 *
 * @throws PublicFetchError `createRefusal`
 */
export function checkPublicUrl(text: string, rules: PublicUrlRules = {}): URL {
  const createRefusal = (why: string) => new PublicFetchError("refused", why);
  if (!URL.canParse(text)) throw createRefusal("must be a URL");
  const url = new URL(text);
  if (url.username || url.password) throw createRefusal("must not hold a user or a password");
  if (isAllowedOrigin(url, rules)) return url;
  // Only a development's list has entries: elsewhere nobody could add the origin.
  if (isLoopback(url) && rules.loopbackOrigins?.some((one) => one !== ""))
    throw createRefusal(
      `must have a public host name, or an origin of LOOPBACK_ORIGINS: npm start -- --origins=${url.origin}`,
    );
  if (url.protocol !== "https:" && !(rules.allowHttp && url.protocol === "http:"))
    throw createRefusal(rules.allowHttp ? "must be an http or https URL" : "must be an https URL");
  // The parser drops the scheme's default port.
  if (url.port !== "") throw createRefusal("must use the default port");
  if (!isPublicHostname(url.hostname)) throw createRefusal("must have a public host name");
  return url;
}

/** Of loopback origins only loopback addresses: the variable can open nothing else by mistake. */
function isAllowedOrigin(
  url: URL,
  { loopbackOrigins = [], trustedOrigins = [] }: PublicUrlRules,
): boolean {
  const isLoopbackAllowed = isLoopback(url) && loopbackOrigins.includes(url.origin);
  return (
    isLoopbackAllowed || (/^https?:$/.test(url.protocol) && trustedOrigins.includes(url.origin))
  );
}

/** Whether an HTTP URL leads to this machine by its very name. */
export function isLoopback({ hostname, protocol }: URL): boolean {
  return /^(127(\.\d+){3}|localhost|\[::1\])$/.test(hostname) && /^https?:$/.test(protocol);
}

/** Which user-supplied URLs are allowed, and how their names are resolved. */
interface PublicTargetRules extends PublicUrlRules {
  /** The DNS-over-HTTPS resolver; see `Env.DNS_OVER_HTTPS_URL`. */
  resolverUrl?: string | undefined;
  /** In place of the resolver. */
  resolve?: Resolver;
}

/**
 * Checks a user-supplied URL as `checkPublicUrl` does, and that its name resolves only to public
 * addresses. The name may change afterwards: a stored URL is checked again by each `fetchPublic`.
 *
 * @param signal - aborts the DNS query
 * @throws PublicFetchError `createRefusal`; `unresolved`; `unreachable` for a name without an address
 */
export async function checkPublicTarget(
  text: string,
  rules: PublicTargetRules,
  signal: AbortSignal,
): Promise<URL> {
  const url = checkPublicUrl(text, rules);
  if (isAllowedOrigin(url, rules)) return url;
  const resolve =
    rules.resolve ?? createDnsOverHttpsResolver(rules.resolverUrl ?? DEFAULT_RESOLVER_URL);
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
  body?: string | Uint8Array<ArrayBuffer>;
  /** Milliseconds in total, including the body. */
  timeoutMs: number;
  /** Largest body of the answer, bytes; with 0 it is not read, and its faults do not matter. */
  maxBytes: number;
}

/** The answer of a guarded fetch. Redirects are not followed: a 3xx is an answer like any other. */
interface PublicResponse {
  status: number;
  headers: Headers;
  body: Uint8Array;
}

/**
 * Fetches a user-supplied URL: an agent, an inbox provider, a webhook receiver, an RPC node. The
 * only way to fetch such URLs. The URL is checked each time; the runtime resolves its name again
 * when it connects, which `global_fetch_strictly_public` covers. Sends no cookie, follows no
 * redirect, and is bounded in time and size.
 *
 * @throws PublicFetchError
 */
export function fetchPublic(text: string, options: PublicFetchOptions): Promise<PublicResponse> {
  return abortAfter(options.timeoutMs, (signal) => fetchWithSignal(text, options, signal));
}

/**
 * The `fetch` of a client whose base URL a user supplied. The URL is checked as `fetchPublic` does, once
 * for each origin. The client follows no redirect, and bounds time and size.
 *
 * The returned function throws PublicFetchError.
 */
export function createPublicFetch(rules: PublicTargetRules): typeof globalThis.fetch {
  const checked = new Set<string>();
  return async (input, init) => {
    const { href, origin } = new URL(String(input));
    if (!checked.has(origin))
      await checkPublicTarget(href, rules, init?.signal ?? new AbortController().signal);
    checked.add(origin);
    return globalThis.fetch(href, init);
  };
}

async function fetchWithSignal(
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
    const body = await readBoundedBody(response, options.maxBytes);
    return { status: response.status, headers: response.headers, body };
  } catch (error) {
    if (error instanceof PublicFetchError) throw error;
    if (signal.aborted)
      throw new PublicFetchError("timeout", `no answer within ${options.timeoutMs} ms`, error);
    throw new PublicFetchError("unreachable", "the host could not be reached", error);
  }
}

async function readBoundedBody(response: Response, maxBytes: number): Promise<Uint8Array> {
  if (maxBytes === 0) {
    // Frees the connection; a body that has already failed has done so too.
    await response.body?.cancel().catch(() => undefined);
    return new Uint8Array();
  }
  const body = await readBody(response, maxBytes);
  if (body === null)
    throw new PublicFetchError("too-large", `the answer is larger than ${maxBytes} bytes`);
  return body;
}

/** Returns all IP addresses of a host, none when the name does not exist. */
type Resolver = (hostname: string, signal: AbortSignal) => Promise<string[]>;

/** The resolver used unless a variable names another. */
const DEFAULT_RESOLVER_URL = "https://cloudflare-dns.com/dns-query";

/** Record types (RFC 1035, RFC 3596). */
const ADDRESS_TYPES = { A: 1, AAAA: 28 } as const;
const RCODE_NO_ERROR = 0;
/** A message of DNS has at most 64 KiB; its JSON text is a few times as long. */
const MAX_DNS_RESPONSE_BYTES = 512 * 1024;
const RCODE_NAME_ERROR = 3;

/** The JSON form common to public resolvers; it lists aliases along with the addresses. */
const DNS_RESPONSE = z.object({
  Status: z.int(),
  Answer: z.array(z.object({ type: z.int(), data: z.string() })).optional(),
});

/**
 * Resolves names by DNS over HTTPS, since the platform has no other resolver.
 *
 * @param url - of the resolver, such as `DEFAULT_RESOLVER_URL`
 */
function createDnsOverHttpsResolver(url: string): Resolver {
  return async (hostname, signal) => {
    const found = await Promise.all(
      (["A", "AAAA"] as const).map((type) => queryDns(url, hostname, type, signal)),
    );
    return found.flat();
  };
}

async function queryDns(
  url: string,
  hostname: string,
  type: keyof typeof ADDRESS_TYPES,
  signal: AbortSignal,
): Promise<string[]> {
  const address = new URL(url);
  address.searchParams.set("name", hostname);
  address.searchParams.set("type", type);
  const response = await globalThis.fetch(address, {
    headers: { accept: "application/dns-json" },
    redirect: "manual",
    signal,
  });
  if (!response.ok) {
    await response.body?.cancel();
    throw new Error(`the resolver answered ${response.status}`);
  }
  const body = await readBody(response, MAX_DNS_RESPONSE_BYTES);
  if (body === null)
    throw new Error(`the resolver answered more than ${MAX_DNS_RESPONSE_BYTES} bytes`);
  const { Status, Answer = [] } = DNS_RESPONSE.parse(JSON.parse(new TextDecoder().decode(body)));
  if (Status === RCODE_NAME_ERROR) return [];
  if (Status !== RCODE_NO_ERROR) throw new Error(`the resolver answered with code ${Status}`);
  return Answer.flatMap((record) => (record.type === ADDRESS_TYPES[type] ? [record.data] : []));
}

/**
 * Reads the body of an answer. The size counts after decompression, so that a small answer which
 * expands to a large one is not read either.
 *
 * @returns null when the body is larger
 */
async function readBody(response: Response, maxBytes: number): Promise<Uint8Array | null> {
  const chunks: Uint8Array[] = [];
  let left = maxBytes;
  // Leaving the loop early cancels the stream.
  for await (const chunk of response.body ?? []) {
    left -= chunk.byteLength;
    if (left < 0) return null;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
