import type { Env } from "../../env.ts";
import {
  fetchPublic,
  PublicFetchError,
  type PublicFetchOptions,
} from "../../http/outbound/fetch-public.ts";
import { listLoopbackOrigins } from "../../http/outbound/loopback-origins.ts";
import type { Receiver } from "../endpoints/open-receiver.ts";
import { createSignatureHeaders } from "../endpoints/signature.ts";
import { formatBody, type OutgoingEvent } from "./format-body.ts";
import { readRetryAfterMs } from "./retry-schedule.ts";

const DEFAULT_TIMEOUT_MS = 15_000;
/** An attempt must be recorded before its claim expires and the platform ends the invocation. */
const MAX_TIMEOUT_MS = 25_000;

/** The outcome of one attempt. */
export interface DeliveryAttempt {
  /** `gone`: the receiver answered 410 and wants nothing any more. */
  result: "delivered" | "failed" | "gone";
  /** HTTP status; null when there was no answer. */
  status: number | null;
  /** Why it failed, without any of the answer's text; null when it did not. */
  error: string | null;
  /** The receiver timed out. */
  timedOut: boolean;
  /** How long the receiver asked us to wait; null when it did not. */
  retryAfterMs: number | null;
  durationMs: number;
}

export type SendOptions = Pick<PublicFetchOptions, "timeoutMs" | "loopbackOrigins" | "resolverUrl">;

/**
 * The settings of attempts.
 *
 * @param deadline - epoch milliseconds until which they are read
 * @throws DatabaseUnavailableError
 */
export async function readSendOptions(
  env: Env,
  deadline = Date.now() + DEFAULT_TIMEOUT_MS,
): Promise<SendOptions> {
  return {
    timeoutMs: Math.min(Number(env.WEBHOOK_TIMEOUT_MS) || DEFAULT_TIMEOUT_MS, MAX_TIMEOUT_MS),
    loopbackOrigins: await listLoopbackOrigins(env, deadline),
    resolverUrl: env.DNS_OVER_HTTPS_URL,
  };
}

/**
 * Sends an event to a receiver once. Only the status decides, as soon as it arrives: only 2xx is a
 * success, a redirect is not followed, and no body is read. Any failure is an outcome, not an
 * error.
 */
export async function sendEvent(
  receiver: Receiver,
  event: OutgoingEvent,
  options: SendOptions,
): Promise<DeliveryAttempt> {
  const begun = Date.now();
  try {
    const body = formatBody(receiver.format, event);
    const { status, headers } = await fetchPublic(receiver.url, {
      method: "POST",
      headers: {
        "content-type": "application/json; charset=utf-8",
        "user-agent": "agent-payment-service-webhooks/1",
        ...(receiver.authToken !== null && { authorization: `Bearer ${receiver.authToken}` }),
        ...createSignatureHeaders(receiver.secrets, event.id, begun, body),
      },
      body,
      maxBytes: 0,
      ...options,
    });
    const answered = { ...toFailedAttempt(`answered ${status}`, Date.now() - begun), status };
    if (status >= 200 && status < 300) return { ...answered, result: "delivered", error: null };
    return {
      ...answered,
      result: status === 410 ? "gone" : "failed",
      retryAfterMs: readRetryAfterMs(status, headers, Date.now()),
    };
  } catch (error) {
    if (!(error instanceof PublicFetchError)) throw error;
    const failed = toFailedAttempt(error.message, Date.now() - begun);
    return { ...failed, timedOut: error.reason === "timeout" };
  }
}

/** An attempt that got no answer. */
export function toFailedAttempt(error: string, durationMs = 0): DeliveryAttempt {
  return { result: "failed", status: null, error, timedOut: false, retryAfterMs: null, durationMs };
}
