import type { ContentfulStatusCode } from "hono/utils/http-status";
import { ProviderError } from "../chain/provider/provider.ts";
import {
  ArchiveBehindError,
  ArchiveUnboundError,
  DatabaseFullError,
  DatabaseUnavailableError,
} from "../db/client.ts";
import { log } from "../log.ts";
import { type AdminErrorKind, createAdminErrorResponse, isAdminPath } from "./admin-errors.ts";
import type { AppContext } from "./context.ts";
import { ERROR_CODES, type ErrorCode, type ErrorStatus, generalCodeOf } from "./errors/codes.ts";
import { ERRORS_PATH } from "./errors/page.ts";
import { toWireText } from "./names/wire-names.ts";

/** How a message begins that is about a field, a header or the body: `limit: must be at most 50`. */
const FIELD_PREFIX_PATTERN = /^([a-z][\w-]*(?:\.[\w-]+|\[(?:\d+|"")\])*): /i;

/** An error reported to the caller: the message is sent as it is and must hold no secret. */
export class ApiError extends Error {
  override name = "ApiError";
  readonly status: ContentfulStatusCode;
  readonly code: ErrorCode;
  /** The field that the message names, or the first of several; null when it names none. */
  readonly field: string | null;
  readonly headers: Readonly<Record<string, string>>;
  /** Its `kind` under /v1; null: the one that follows from the status. */
  readonly kind: AdminErrorKind | null;
  /** Members of the body beside `error`, under /api/v1. */
  readonly extraMembers: Readonly<Record<string, unknown>>;

  /**
   * @param what - a code, or a status, which means the general code of that status
   * @param options - `field`: by default the name that the message begins with. `retryAfter`: seconds.
   *   `allow`: the methods of a 405. `kind`: under /v1. `extraMembers`: members of the body beside `error`,
   *   under /api/v1.
   */
  constructor(
    what: ErrorCode | ErrorStatus,
    message: string,
    options: {
      field?: string;
      retryAfter?: number;
      allow?: readonly string[];
      kind?: AdminErrorKind;
      beside?: Record<string, unknown>;
    } = {},
  ) {
    super(message);
    this.code = typeof what === "string" ? what : generalCodeOf(what);
    this.status = ERROR_CODES[this.code].status;
    this.field = options.field ?? FIELD_PREFIX_PATTERN.exec(message)?.[1] ?? null;
    this.kind = options.kind ?? null;
    this.extraMembers = options.beside ?? {};
    this.headers = {
      ...(options.retryAfter !== undefined && { "retry-after": String(options.retryAfter) }),
      ...(options.allow && { allow: options.allow.join(", ") }),
      ...(this.status === 401 && { "www-authenticate": challengeOf(this.code) }),
    };
  }
}

/** RFC 6750 §3: names the required scheme, and the error unless the request has no key at all. */
function challengeOf(code: ErrorCode): string {
  const challenge = 'Bearer realm="agent-payment-service"';
  return code === "missing_key" ? challenge : `${challenge}, error="invalid_token"`;
}

/** Answers an error, and logs it when it is ours or a dependency's. */
export function createErrorResponse(error: unknown, c: AppContext): Response {
  const known = toApiError(error);
  if (known.status >= 500) logFailedRequest(error, known.status, c);
  if (isAdminPath(c.req.path)) return createAdminErrorResponse(known, c);
  const { code } = known;
  const message = toWireText(known.message);
  const field = known.field && toWireText(known.field);
  const reason = {
    message,
    code,
    ...(field !== null && { field }),
    requestId: c.var.requestId,
    docs: new URL(`${ERRORS_PATH}#${code}`, c.req.url).href,
  };
  return c.json(
    { status: "error", error: reason, ...known.extraMembers },
    known.status,
    known.headers,
  );
}

/** The public form of an error. Unwraps it, such as from drizzle's wrappers. */
function toApiError(error: unknown): ApiError {
  for (const cause of iterateCauses(error)) {
    if (cause instanceof ApiError) return cause;
    if (cause instanceof DatabaseUnavailableError) return toDatabaseApiError(cause);
    if (cause instanceof ProviderError) return toProviderApiError(cause);
  }
  return new ApiError(500, "Internal Server Error");
}

function toDatabaseApiError(error: DatabaseUnavailableError): ApiError {
  const { retryAfter } = error;
  if (error instanceof ArchiveUnboundError) {
    const message = `The archive ${error.binding} is not bound. An operator has to bind it.`;
    return new ApiError("archive_behind", message, { retryAfter });
  }
  if (error instanceof ArchiveBehindError)
    return new ApiError("archive_behind", "An archive lacks records. Try again later.", {
      retryAfter,
    });
  if (error instanceof DatabaseFullError)
    return new ApiError("database_full", "The database is full. Try again later.", { retryAfter });
  return new ApiError("database_unavailable", "The database is unavailable", { retryAfter });
}

/** 503 when the provider (or our budget for it) makes us wait, 504 when it was too slow. */
function toProviderApiError(error: ProviderError): ApiError {
  const refuses = error.status === 402 || error.status === 418 || error.status === 429;
  if (refuses || error.retryAt !== null) {
    const wait = error.retryAt === null ? 60 : (error.retryAt - Date.now()) / 1000;
    const message = "The chain provider accepts no calls at the moment";
    const retryAfter = Math.max(1, Math.ceil(wait));
    return new ApiError("chain_provider_unavailable", message, { retryAfter });
  }
  const timedOut = [...iterateCauses(error)].some((cause) => /Timeout|Abort/.test(cause.name));
  return timedOut
    ? new ApiError(504, "The chain provider did not answer in time", { retryAfter: 5 })
    : new ApiError("chain_provider_failed", "The chain provider failed");
}

function* iterateCauses(error: unknown): Generator<Error> {
  // Eight is more than any nesting of wrappers, and ends a cycle.
  for (let at = error, depth = 0; at instanceof Error && depth < 8; at = at.cause, depth++)
    yield at;
}

function logFailedRequest(error: unknown, status: number, c: AppContext): void {
  // The innermost error: wrappers quote statements with their parameters, which may be secret.
  const root = [...iterateCauses(error)].at(-1);
  log("error", "request.failed", {
    requestId: c.var.requestId,
    method: c.req.method,
    path: c.req.path,
    status,
    error: root?.name ?? typeof error,
    message: root?.message ?? String(error),
    stack: root?.stack,
  });
}
