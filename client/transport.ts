import { REPEATABLE } from "./generated/wire.ts";
import { parseWire } from "./names.ts";

/** How requests are sent. */
export interface TransportOptions {
  /** An API key, or where to get one for each request. */
  token?: string | (() => string | Promise<string>);
  /** Sends a request; the platform's own by default. */
  fetch?: (request: Request) => Promise<Response>;
  /** How often a request is sent at most; default 4. */
  attempts?: number;
  /** Milliseconds that an attempt may take; default 30 s. */
  timeoutMs?: number;
}

const ATTEMPTS = 4;
const TIMEOUT_MS = 30_000;
const FIRST_PAUSE_MS = 250;
/** The caller gets the answer instead of a longer wait. */
const MAX_PAUSE_MS = 60_000;

/** The service did nothing, so the client may send the request again. */
const NOT_DONE = new Set([429, 503]);
/** The service may have done the request. */
const UNCERTAIN = new Set([500, 502, 504]);

const repeatable: ReadonlySet<string> = new Set(REPEATABLE);

/**
 * A `fetch` that authenticates and retries. After 429 and 503, which say that nothing was done, it
 * retries any request. After a lost connection or another failure of the service, it retries reads
 * and requests with an Idempotency-Key. A POST without such a key gets one, the same for all
 * attempts. It waits as long as `Retry-After` says.
 */
export function transport(options: TransportOptions): (request: Request) => Promise<Response> {
  const { attempts = ATTEMPTS, timeoutMs = TIMEOUT_MS, token } = options;
  const send = options.fetch ?? ((request: Request) => globalThis.fetch(request));
  return async (request) => {
    const { method, signal } = request;
    const { pathname } = new URL(request.url);
    const path = pathname.replace(/^.*?(?=\/(?:api\/)?v1\/)/, "").replace(/\/$/, "");
    const headers = new Headers(request.headers);
    const key = typeof token === "function" ? await token() : token;
    if (key !== undefined && path.startsWith("/api/")) headers.set("token", key);
    else if (key !== undefined) headers.set("authorization", `Bearer ${key}`);
    if (method === "POST" && !headers.has("idempotency-key"))
      headers.set("idempotency-key", crypto.randomUUID());
    const signed = new Request(request, { headers });
    const mayRepeat = method === "GET" || repeatable.has(`${method} ${path}`);

    for (let attempt = 1; ; attempt++) {
      const isLast = attempt >= attempts;
      const timeout = AbortSignal.timeout(timeoutMs);
      let pauseMs = Math.random() * FIRST_PAUSE_MS * 2 ** attempt;
      try {
        const limited = new Request(signed.clone(), { signal: AbortSignal.any([signal, timeout]) });
        const response = await send(limited);
        const { status } = response;
        const isDone = !NOT_DONE.has(status) && !(mayRepeat && UNCERTAIN.has(status));
        pauseMs = retryAfterMs(response) ?? pauseMs;
        if (isLast || isDone || pauseMs > MAX_PAUSE_MS) return await inOwnNames(response);
        await response.body?.cancel();
      } catch (error) {
        if (isLast || !mayRepeat || signal.aborted) throw error;
      }
      await pause(pauseMs, signal);
    }
  };
}

/** What `Retry-After` says, in milliseconds: it has seconds, or a date. */
export function retryAfterMs({ headers }: Response): number | undefined {
  const value = headers.get("retry-after");
  if (value === null) return undefined;
  const ms = /^\d+$/.test(value) ? Number(value) * 1000 : Date.parse(value) - Date.now();
  return Number.isNaN(ms) ? undefined : Math.max(ms, 0);
}

/** Waits; throws the signal's reason as soon as it aborts. */
export function pause(ms: number, signal?: AbortSignal | null): Promise<void> {
  return new Promise((resolve, reject) => {
    const abort = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", abort);
      resolve();
    }, ms);
    if (signal?.aborted) abort();
    else signal?.addEventListener("abort", abort, { once: true });
  });
}

async function inOwnNames(response: Response): Promise<Response> {
  const { status, statusText } = response;
  if (!response.headers.get("content-type")?.startsWith("application/json")) return response;
  const headers = new Headers(response.headers);
  // They are those of the body as it was sent.
  headers.delete("content-length");
  headers.delete("content-encoding");
  const text = await response.text();
  const body = text === "" ? null : JSON.stringify(parseWire(text));
  return new Response(body, { status, statusText, headers });
}
