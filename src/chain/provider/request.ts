import * as z from "zod";
import { abortAfter } from "../../timeout.ts";
import { type CallBudget, ProviderError, ResponseTooLargeError } from "./provider.ts";

export interface RequesterOptions {
  /** With its path prefix, such as `https://host/api/v0`. */
  baseUrl: string;
  /** The provider key. Secret: it is sent in a header and appears in no error. */
  projectId: string;
  /** Asked before every call, retries included. Default: calls are not limited. */
  budget?: CallBudget;
  /** For one call, including its body. Default 8 s. */
  timeoutMs?: number;
  /** Of a GET, retries included. Default 3. */
  maxAttempts?: number;
  /** Ends calls and their retries when nobody waits for answers any more. */
  signal?: AbortSignal;
  fetch?: typeof globalThis.fetch;
  /** Resolves after some milliseconds: the pause before a retry. */
  wait?: (ms: number) => Promise<void>;
  /** Epoch milliseconds. */
  now?: () => number;
}

/** Reads a path and checks the answer's shape. Null: the provider answered 404. */
export type Requester = <T>(path: string, shape: z.ZodType<T>) => Promise<T | null>;

/** What a POST carries. */
interface Payload {
  /** Content type. */
  contentType: string;
  body: string | Uint8Array<ArrayBuffer>;
}

/** Posts to a path, once. `status` is 200, 400 or one of `more`: the caller interprets it. */
export type Sender = (
  path: string,
  payload: Payload,
  more?: readonly number[],
) => Promise<{ status: number; text: string }>;

const DEFAULT_TIMEOUT_MS = 8000;
/** One call and its retries; beyond this no further retry starts. */
const MAX_ATTEMPTS = 3;
const RETRY_BUDGET_MS = 15_000;
const INITIAL_RETRY_DELAY_MS = 250;
/** The largest transaction stays far below. What is larger is asked for in parts, or done without. */
const MAX_BODY_BYTES = 4 * 1024 * 1024;

/** Checked here because a runtime that refuses a header quotes it in the error. */
const HEADER_VALUE_PATTERN = /^[\x21-\x7e]*$/;

/** Of a transaction that was sent: the same bytes may be sent again later. */
const MEMPOOL_FULL_STATUS = 425;

const REFUSAL_STATUSES = [402, 418, 429] as const;
type RefusalStatus = (typeof REFUSAL_STATUSES)[number];
const DAY_MS = 24 * 60 * 60_000;
const BAN_RETRY_DELAY_MS = 60 * 60_000;
const RATE_LIMIT_RETRY_DELAY_MS = 10_000;

/**
 * Makes the GET of a client, checked and bounded in time and size. It is retried with backoff when the
 * network or the service fails, and never when the service refuses.
 *
 * The returned function throws a ProviderError. It has `retryAt` when the provider refuses more calls
 * (402, 418, 429), and is an ResponseTooLargeError for a body beyond the bound. It is `permanent` when a retry
 * cannot help (another 4xx but 425, a redirect).
 */
export function createRequester(options: RequesterOptions): Requester {
  const { wait = delay, now = Date.now, maxAttempts = MAX_ATTEMPTS } = options;
  return async (path, shape) => {
    checkProviderKey(options);
    const started = now();
    for (let attempt = 1; ; attempt++) {
      await options.budget?.leaseCall();
      const outcome = await callOnce(options, path);
      if (outcome.ok)
        return outcome.text === null ? null : parseResponse(path, outcome.text, shape);
      const isOver = now() - started > RETRY_BUDGET_MS || options.signal?.aborted === true;
      if (attempt >= maxAttempts || isOver) throw outcome.error;
      const longest = INITIAL_RETRY_DELAY_MS * 2 ** attempt;
      await wait(longest / 2 + (Math.random() * longest) / 2);
    }
  };
}

/**
 * Makes the POST of a client, checked and bounded as a GET. It is never retried here, since only the
 * caller knows whether the request may be sent twice.
 *
 * The returned function throws a ProviderError for everything but 200 and 400.
 */
export function createSender(options: RequesterOptions): Sender {
  return async (path, payload, more = []) => {
    checkProviderKey(options);
    await options.budget?.leaseCall();
    const outcome = await callOnce(options, path, payload, [400, ...more]);
    if (!outcome.ok) throw outcome.error;
    const { status, text } = outcome;
    // The hosted service and its open server say so of paths that they do not serve.
    const isUnserved = text === null || (status === 400 && /"Invalid path\b/.test(text));
    if (!isUnserved) return { status, text };
    throw new ProviderError(`provider: POST ${path}: status 404`, { status: 404, permanent: true });
  };
}

function checkProviderKey({ projectId }: RequesterOptions): void {
  if (!HEADER_VALUE_PATTERN.test(projectId))
    throw new ProviderError("provider key: has characters that no header can carry", {
      permanent: true,
    });
}

/** `text` null: 404. Not ok: a temporary failure. A permanent one is thrown. */
type CallOutcome =
  | { ok: true; status: number; text: string | null }
  | { ok: false; error: ProviderError };

async function callOnce(
  options: RequesterOptions,
  path: string,
  payload?: Payload,
  interpreted: readonly number[] = [],
): Promise<CallOutcome> {
  const { baseUrl, projectId, timeoutMs = DEFAULT_TIMEOUT_MS } = options;
  const call = `${payload ? "POST" : "GET"} ${path}`;
  const init = {
    method: payload ? "POST" : "GET",
    headers: {
      project_id: projectId,
      accept: "application/json",
      ...(payload && { "content-type": payload.contentType }),
    },
    ...(payload && { body: payload.body }),
    // A redirect would carry the key to another host.
    redirect: "manual",
  } as const;
  const url = baseUrl.replace(/\/+$/, "") + path;
  // Called as a method: the runtime's fetch needs its global object.
  const fetch = options.fetch ?? ((...args) => globalThis.fetch(...args));
  let response: Response;
  let text: string | null;
  try {
    [response, text] = await abortAfter(timeoutMs, async (late) => {
      const signal = options.signal ? AbortSignal.any([late, options.signal]) : late;
      const answer = await fetch(url, { ...init, signal });
      return [answer, await readText(answer)] as const;
    });
  } catch (cause) {
    const timedOut = cause instanceof Error && cause.name === "TimeoutError";
    const problem = timedOut ? `no answer within ${timeoutMs} ms` : "connection failed";
    return { ok: false, error: new ProviderError(`provider: ${call}: ${problem}`, { cause }) };
  }
  const { status } = response;
  if (text === null)
    throw new ResponseTooLargeError(`provider: ${call}: answer is too large`, { status });
  if (status === 200 || interpreted.includes(status)) return { ok: true, status, text };
  if (status === 404) return { ok: true, status, text: null };
  const message = `provider: ${call}: status ${status}`;
  const refusal = REFUSAL_STATUSES.find((one) => one === status);
  if (refusal !== undefined) throw await reportRefusal(options, refusal, response, message);
  // Dolos says so, without a word, of heights above its tip.
  const isBehind = status === 400 && text === "";
  if (status < 500 && status !== MEMPOOL_FULL_STATUS && !isBehind)
    throw new ProviderError(message, { status, permanent: true });
  return { ok: false, error: new ProviderError(message, { status }) };
}

/** Tells all users of the key, and returns when to retry. */
async function reportRefusal(
  { budget, now = Date.now }: RequesterOptions,
  status: RefusalStatus,
  response: Response,
  message: string,
): Promise<ProviderError> {
  const at = now();
  const retryAfter = parseRetryAfter(response.headers.get("retry-after"), at);
  // One that names no time to come says nothing; and no header puts all work off for years.
  const wait = Math.min(Math.max(retryAfter, RATE_LIMIT_RETRY_DELAY_MS), DAY_MS);
  const retryAt = retryAfter > 0 ? at + wait : computeDefaultRetryAt(status, at);
  await budget?.reportRefusal(retryAt);
  return new ProviderError(message, { status, retryAt });
}

function computeDefaultRetryAt(status: RefusalStatus, now: number): number {
  // The daily quota (402) is counted from midnight UTC.
  if (status === 402) return (Math.floor(now / DAY_MS) + 1) * DAY_MS;
  return now + (status === 418 ? BAN_RETRY_DELAY_MS : RATE_LIMIT_RETRY_DELAY_MS);
}

/** `Retry-After` is a number of seconds or a date (RFC 9110 §10.2.3). 0: it is none of them. */
function parseRetryAfter(header: string | null, now: number): number {
  if (header === null) return 0;
  if (/^\d{1,9}$/.test(header.trim())) return Number(header) * 1000;
  const date = Date.parse(header);
  return Number.isNaN(date) ? 0 : date - now;
}

/** The body; null when it is larger than any expected answer. */
async function readText(response: Response): Promise<string | null> {
  if (response.body === null) return "";
  if (hasShortBody(response.headers)) return response.text();
  const reader = response.body.getReader();
  const decoder = new TextDecoder();
  let [text, length] = ["", 0];
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return text + decoder.decode();
    length += value.length;
    if (length > MAX_BODY_BYTES) {
      await reader.cancel();
      return null;
    }
    text += decoder.decode(value, { stream: true });
  }
}

/**
 * Whether a body tells beforehand that it is short enough: counting it part by part costs more than reading
 * it. A length is that of the compressed bytes where there is an encoding.
 */
function hasShortBody(headers: Headers): boolean {
  const length = headers.get("content-length");
  return length !== null && Number(length) <= MAX_BODY_BYTES && !headers.has("content-encoding");
}

/** A wrong answer may be a proxy's, so it is not permanent; asking again at once will not help. */
function parseResponse<T>(path: string, text: string, shape: z.ZodType<T>): T {
  const json = parseJson(text);
  if (json === undefined)
    throw new ProviderError(`provider: GET ${path}: answer is not JSON`, { status: 200 });
  const result = shape.safeParse(json);
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  const where = issue?.path.join(".") || "answer";
  throw new ProviderError(`provider: GET ${path}: ${where}: ${issue?.message}`, { status: 200 });
}

function delay(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

const MAX_MESSAGE_LENGTH = 1000;

const ERROR_BODY = z.object({ message: z.string() });

/**
 * The text of an error's body: its `message`, else all of it. It is as long as the answer: what it means may
 * stand at its end, behind all tokens of a wallet. Shorten what is kept of it.
 */
export function readErrorMessage(text: string): string {
  const parsed = ERROR_BODY.safeParse(parseJson(text));
  return parsed.success ? parsed.data.message : text;
}

/** JSON with whole numbers of any size. No text of the value may be digits and an `n`. */
export function toJson(value: object): string {
  const json = JSON.stringify(value, (_, one) => (typeof one === "bigint" ? `${one}n` : one));
  return json.replace(/"(\d+)n"/g, "$1");
}

/** The shortest decimal text of a positive number, never in exponent form. */
export function toDecimalText(value: number): string {
  const [digits = "", exponent = "0"] = String(value).split("e-");
  if (exponent === "0") return digits;
  const [whole = "", fraction = ""] = digits.split(".");
  return `0.${"0".repeat(Number(exponent) - whole.length)}${whole}${fraction}`;
}

/** Undefined when the text is not JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** A text as it is stored or logged. */
export function truncateMessage(text: string): string {
  return text.slice(0, MAX_MESSAGE_LENGTH);
}
