import * as z from "zod";
import { readBody } from "./read-body.ts";

/** Returns all IP addresses of a host, none when the name does not exist. */
export type Resolver = (hostname: string, signal: AbortSignal) => Promise<string[]>;

/** The resolver used unless a variable names another. */
export const DEFAULT_RESOLVER_URL = "https://cloudflare-dns.com/dns-query";

/** Record types (RFC 1035, RFC 3596). */
const ADDRESS_TYPES = { A: 1, AAAA: 28 } as const;
const NO_ERROR = 0;
/** A message of DNS has at most 64 KiB; its JSON text is a few times as long. */
const MAX_ANSWER_BYTES = 512 * 1024;
const NO_SUCH_NAME = 3;

/** The JSON form common to public resolvers; it lists aliases along with the addresses. */
const ANSWER = z.object({
  Status: z.int(),
  Answer: z.array(z.object({ type: z.int(), data: z.string() })).optional(),
});

/**
 * Resolves names by DNS over HTTPS, since the platform has no other resolver.
 *
 * @param url - of the resolver, such as `DEFAULT_RESOLVER_URL`
 */
export function dnsOverHttps(url: string): Resolver {
  return async (hostname, signal) => {
    const found = await Promise.all(
      (["A", "AAAA"] as const).map((type) => query(url, hostname, type, signal)),
    );
    return found.flat();
  };
}

async function query(
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
  const body = await readBody(response, MAX_ANSWER_BYTES);
  if (body === null) throw new Error(`the resolver answered more than ${MAX_ANSWER_BYTES} bytes`);
  const { Status, Answer = [] } = ANSWER.parse(JSON.parse(new TextDecoder().decode(body)));
  if (Status === NO_SUCH_NAME) return [];
  if (Status !== NO_ERROR) throw new Error(`the resolver answered with code ${Status}`);
  return Answer.flatMap((record) => (record.type === ADDRESS_TYPES[type] ? [record.data] : []));
}
