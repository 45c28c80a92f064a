import type { Network } from "../chain/network.ts";
import { ProviderError, type TransactionProvider } from "../chain/provider/provider.ts";
import { isPermanentRejection } from "../chain/provider/rejection.ts";
import { readErrorMessage } from "../chain/provider/request.ts";
import type { Env } from "../env.ts";
import { fetchPublic, PublicFetchError } from "../http/outbound/fetch-public.ts";
import { listLoopbackOrigins } from "../http/outbound/loopback-origins.ts";
import { log } from "../log.ts";

/** Submits a signed transaction to one place, as the provider does. */
type SubmitTransaction = TransactionProvider["submit"];

type SubmitEnv = Pick<
  Env,
  "DB" | "DNS_OVER_HTTPS_URL" | "LOOPBACK_ORIGINS" | "SUBMIT_URLS_PREPROD" | "SUBMIT_URLS_MAINNET"
>;

const SUBMIT_TIMEOUT_MS = 8_000;
/** A node's refusal is far shorter. */
const MAX_RESPONSE_BYTES = 64 * 1024;

/**
 * Submits the same bytes to one place after the other, until one accepts them, or says what ends
 * them. A refusal that tells of what the node knows, a ban and silence lead to the next.
 *
 * @returns the first refusal when all have refused, `null` when one accepted
 * @throws ProviderError, the first, when none accepted and not all have refused: one may have them
 */
export async function submitWithFallback(
  places: readonly [SubmitTransaction, ...SubmitTransaction[]],
  cbor: Uint8Array,
): Promise<{ refused: string } | null> {
  let refusal: { refused: string } | null = null;
  let failure: ProviderError | null = null;
  for (const submit of places) {
    try {
      const answer = await submit(cbor);
      if (answer === null || isPermanentRejection(answer.refused)) return answer;
      refusal ??= answer;
    } catch (error) {
      if (!(error instanceof ProviderError)) throw error;
      failure ??= error;
    }
  }
  if (failure !== null) throw failure;
  return refusal;
}

/** The further places that `SUBMIT_URLS_<NETWORK>` names. */
export function createFallbackSubmitters(env: SubmitEnv, network: Network): SubmitTransaction[] {
  const urls = network === "Preprod" ? env.SUBMIT_URLS_PREPROD : env.SUBMIT_URLS_MAINNET;
  return (urls ?? "")
    .split(",")
    .map((url) => url.trim())
    .filter((url) => url !== "")
    .map((url) => createSubmitter(env, url));
}

/**
 * Posts the bytes as they are, which is the submit API of nodes and of most hosted services: 200 or
 * 202 with the hash, 400 with the node's refusal. The URL may hold a key, so nothing quotes it.
 */
function createSubmitter(env: SubmitEnv, url: string): SubmitTransaction {
  return async (cbor) => {
    const place = URL.canParse(url) ? new URL(url).origin : "a URL that is none";
    try {
      const { status, body } = await fetchPublic(url, {
        method: "POST",
        headers: { "content-type": "application/cbor", accept: "application/json" },
        body: Uint8Array.from(cbor),
        timeoutMs: SUBMIT_TIMEOUT_MS,
        maxBytes: MAX_RESPONSE_BYTES,
        loopbackOrigins: await listLoopbackOrigins(env, Date.now() + SUBMIT_TIMEOUT_MS),
        resolverUrl: env.DNS_OVER_HTTPS_URL,
      });
      const text = new TextDecoder().decode(body);
      if (status === 400) return { refused: readErrorMessage(text) };
      if ((status === 200 || status === 202) && /^"?[0-9a-f]{64}"?$/.test(text.trim())) return null;
      throw new ProviderError(`submit: ${place} answered ${status}`, { status });
    } catch (error) {
      log("warn", "submit.place_failed", { place, error: String(error) });
      if (!(error instanceof PublicFetchError)) throw error;
      throw new ProviderError(`submit: ${place}: ${error.message}`, { cause: error });
    }
  };
}
