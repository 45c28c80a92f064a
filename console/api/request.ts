/** Every call of the console to the API. */
import { transport } from "../../client/transport.ts";
import { apiKey, signOut } from "./session.ts";

export type HttpMethod = "GET" | "POST" | "PATCH" | "DELETE";

/** A call: a path of the API, such as `/payment`, and what is sent with it. */
export interface ApiRequest {
  method: HttpMethod;
  path: string;
  /** Parameters of the query; empty ones are left out. */
  query?: Record<string, string>;
  body?: unknown;
  /** The same for the same call made again, so that it is done once. */
  idempotencyKey?: string;
}

/** What the API refused, or why it could not be reached. */
export class CallError extends Error {
  /** HTTP status; 0: there was no answer. */
  readonly status: number;
  /** The field of the request that is to blame. */
  readonly field: string | null;
  readonly requestId: string | null;

  constructor(status: number, message: string, field?: string, requestId?: string) {
    super(message);
    this.status = status;
    this.field = field ?? null;
    this.requestId = requestId ?? null;
  }
}

const NOT_MODIFIED_STATUS = 304;
/** Settlements take up to 30 s. Whoever looks at a page would rather be told than wait for many tries. */
const SEND_OPTIONS = { attempts: 2, timeoutMs: 35_000 };

const send = transport({ ...SEND_OPTIONS, token: () => apiKey.value ?? "" });
const ADMIN_API_PREFIX = "/v1/";

/** What an address of the API answered last, so that an unchanged answer is not sent again. */
const cachedResponses = new Map<string, { etag: string; data: unknown }>();
const MAX_CACHED_RESPONSES = 50;

/**
 * Calls the API with the key in use, and answers with the `data` of its answer in the interface's own
 * names. A GET that the API answered with 304 answers with what is known.
 *
 * @param token - another key than the one in use
 * @throws CallError. A 401 ends the session, unless the key was another.
 */
export async function callApi<Data>(request: ApiRequest, signal?: AbortSignal, token?: string) {
  const { method, body, idempotencyKey } = request;
  const url = urlOf(request);
  const headers = new Headers();
  const cached = method === "GET" ? cachedResponses.get(url) : undefined;
  if (cached) headers.set("if-none-match", cached.etag);
  if (body !== undefined) headers.set("content-type", "application/json");
  if (idempotencyKey) headers.set("idempotency-key", idempotencyKey);
  const { response, text } = await sendRequest(
    new Request(url, {
      method,
      headers,
      cache: "no-store",
      signal: signal ?? null,
      ...(body !== undefined && { body: JSON.stringify(body) }),
    }),
    token,
  );
  if (response.status === NOT_MODIFIED_STATUS && cached) return cached.data as Data;
  const answer = parseBody(text);
  if (!response.ok) {
    const error = toResponseError(response, answer);
    if (error.status === 401 && token === undefined) signOut(error.message);
    throw error;
  }
  const data = answer.data as Data;
  const etag = response.headers.get("etag");
  if (method === "GET" && etag !== null) cacheResponse(url, etag, data);
  return data;
}

/**
 * The text of a file that the API makes.
 *
 * @throws CallError
 */
export async function downloadFile(path: string, query: Record<string, string>): Promise<string> {
  const { response, text } = await sendRequest(new Request(urlOf({ path, query })));
  if (response.ok) return text;
  throw toResponseError(response, parseBody(text));
}

/** @throws CallError if there is no answer, or the abort that was asked for */
async function sendRequest(asked: Request, token?: string) {
  try {
    const response = await (token === undefined ? send : transport({ ...SEND_OPTIONS, token }))(
      asked,
    );
    return { response, text: await response.text() };
  } catch (error) {
    if (asked.signal.aborted) throw error;
    throw new CallError(0, "The service cannot be reached. The console tries again.");
  }
}

/** Forgets all answers: another key may see others. */
export function clearCachedResponses(): void {
  cachedResponses.clear();
}

function cacheResponse(url: string, etag: string, data: unknown): void {
  cachedResponses.delete(url);
  cachedResponses.set(url, { etag, data });
  const [oldest] = cachedResponses.keys();
  if (cachedResponses.size > MAX_CACHED_RESPONSES && oldest !== undefined)
    cachedResponses.delete(oldest);
}

/** Where a call goes, with its query. Paths under `/v1/` are of the admin operation, all others of the API. */
export function urlOf({ path, query = {} }: Pick<ApiRequest, "path" | "query">): string {
  const given = Object.entries(query).filter(([, value]) => value !== "");
  const text = new URLSearchParams(given).toString();
  const base = path.startsWith(ADMIN_API_PREFIX) ? path : `/api/v1${path}`;
  return text === "" ? base : `${base}?${text}`;
}

interface ResponseBody {
  data?: unknown;
  error?: { message?: string; field?: string; requestId?: string } | string;
  message?: string;
  meta?: { requestId?: string };
}

function parseBody(text: string): ResponseBody {
  try {
    return (JSON.parse(text) as ResponseBody | null) ?? {};
  } catch {
    return {};
  }
}

function toResponseError(response: Response, { error, message, meta }: ResponseBody): CallError {
  const id = response.headers.get("x-request-id") ?? undefined;
  if (typeof error === "object")
    return new CallError(
      response.status,
      error.message ?? `The service answered ${response.status}`,
      error.field,
      error.requestId ?? id,
    );
  const text = message ?? error ?? `The service answered ${response.status}`;
  return new CallError(response.status, text, undefined, meta?.requestId ?? id);
}
