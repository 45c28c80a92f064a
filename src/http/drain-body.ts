import type { MiddlewareHandler } from "hono";
import { withTimeout } from "../timeout.ts";
import type { AppEnv } from "./context.ts";

/** How much of an unwanted body is read; the connection of a larger one is given up. */
const MAX_DRAINED_BYTES = 32 * 1024 * 1024;
const DRAIN_TIMEOUT_MS = 5_000;

/**
 * Reads the rest of a request's body before the answer is sent. The runtime closes a connection whose
 * body was not read to its end, and drops a `Connection: close` header that would announce this. A
 * client that reuses connections would send its next request on the closing connection (RFC 9112 §9.3).
 */
export const drainBody: MiddlewareHandler<AppEnv> = async (c, next) => {
  await next();
  const { body } = c.req.raw;
  // A handler past its deadline may still be reading.
  if (body === null || body.locked) return;
  const left = (c.get("deadline") ?? Number.POSITIVE_INFINITY) - Date.now();
  await withTimeout(Math.min(left, DRAIN_TIMEOUT_MS), drainStream(body), () => undefined);
};

async function drainStream(body: ReadableStream<Uint8Array>): Promise<void> {
  const reader = body.getReader();
  try {
    for (let size = 0; size <= MAX_DRAINED_BYTES; ) {
      const { done, value } = await reader.read();
      if (done) return;
      size += value.byteLength;
    }
  } catch {
    // The client disconnected while sending: there is no connection to keep.
  }
}
