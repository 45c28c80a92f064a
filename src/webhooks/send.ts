import { fetchPublic, PublicFetchError } from "../http/fetch-public.ts";
import { formatBody, type OutgoingEvent } from "./formats.ts";
import type { Receiver } from "./receiver.ts";
import { retryAfterMs } from "./retries.ts";
import { signatureHeaders } from "./signature.ts";

/** More of an answer is not read: only its status counts. */
const MAX_ANSWER_BYTES = 4_096;

/** What became of one attempt. */
export interface Attempt {
  /** `gone`: the receiver answered 410 and wants nothing any more. */
  result: "delivered" | "failed" | "gone";
  /** HTTP status; null when there was no answer. */
  status: number | null;
  /** Why it failed, without anything of the answer; null when it did not. */
  error: string | null;
  /** How long the receiver asked us to wait; null when it did not. */
  retryAfterMs: number | null;
  durationMs: number;
}

export interface SendOptions {
  timeoutMs: number;
  loopbackOrigins: readonly string[];
  /** The DNS-over-HTTPS resolver by which a receiver's addresses are judged. */
  resolverUrl?: string | undefined;
}

/**
 * Sends an event to a receiver once. Only a 2xx answer is a success: a redirect is not followed.
 * Whatever goes wrong is an outcome, not an error.
 */
export async function sendEvent(
  receiver: Receiver,
  event: OutgoingEvent,
  options: SendOptions,
): Promise<Attempt> {
  const begun = Date.now();
  try {
    const body = formatBody(receiver.format, event);
    const { status, headers } = await fetchPublic(receiver.url, {
      method: "POST",
      headers: {
        "content-type": "application/json; charset=utf-8",
        "user-agent": "agent-payment-service-webhooks/1",
        ...(receiver.authToken !== null && { authorization: `Bearer ${receiver.authToken}` }),
        ...(await signatureHeaders(receiver.secrets, event.id, begun, body)),
      },
      body,
      timeoutMs: options.timeoutMs,
      maxBytes: MAX_ANSWER_BYTES,
      whenLarger: "cut",
      loopbackOrigins: options.loopbackOrigins,
      resolverUrl: options.resolverUrl,
    });
    const durationMs = Date.now() - begun;
    if (status >= 200 && status < 300)
      return { result: "delivered", status, error: null, retryAfterMs: null, durationMs };
    return {
      result: status === 410 ? "gone" : "failed",
      status,
      error: `answered ${status}`,
      retryAfterMs: retryAfterMs(status, headers, Date.now()),
      durationMs,
    };
  } catch (error) {
    if (!(error instanceof PublicFetchError)) throw error;
    return {
      result: "failed",
      status: null,
      error: error.message,
      retryAfterMs: null,
      durationMs: Date.now() - begun,
    };
  }
}
