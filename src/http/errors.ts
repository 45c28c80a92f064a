import type { ContentfulStatusCode } from "hono/utils/http-status";
import { ProviderError } from "../chain/provider.ts";
import { DatabaseUnavailable } from "../db/client.ts";
import { log } from "../log.ts";
import { type AdminErrorKind, adminErrorResponse, isAdminPath } from "./admin-errors.ts";
import type { AppContext } from "./context.ts";

/** An error that the caller is told about: the message goes out as it is, so no secret in it. */
export class ApiError extends Error {
  override name = "ApiError";
  readonly status: ContentfulStatusCode;
  readonly headers: Readonly<Record<string, string>>;
  /** What a path under /v1 says of it; null: what follows from the status. */
  readonly kind: AdminErrorKind | null;

  /** @param options - `retryAfter`: seconds; `allow`: the methods of a 405; `kind`: under /v1 */
  constructor(
    status: ContentfulStatusCode,
    message: string,
    options: { retryAfter?: number; allow?: readonly string[]; kind?: AdminErrorKind } = {},
  ) {
    super(message);
    this.status = status;
    this.kind = options.kind ?? null;
    this.headers = {
      ...(options.retryAfter !== undefined && { "retry-after": String(options.retryAfter) }),
      ...(options.allow && { allow: options.allow.join(", ") }),
    };
  }
}

/** Answers an error, and logs it when it is ours or that of something we depend on. */
export function errorResponse(error: unknown, c: AppContext): Response {
  const known = asApiError(error);
  if (known.status >= 500) report(error, known.status, c);
  if (isAdminPath(c.req.path)) return adminErrorResponse(known, c);
  const body = { status: "error", error: { message: known.message } };
  return c.json(body, known.status, known.headers);
}

/** What the outside learns of an error. Looks through wrappers, such as those of drizzle. */
function asApiError(error: unknown): ApiError {
  for (const cause of causes(error)) {
    if (cause instanceof ApiError) return cause;
    if (cause instanceof DatabaseUnavailable)
      return new ApiError(503, "The database is unavailable", { retryAfter: cause.retryAfter });
    if (cause instanceof ProviderError) return ofProvider(cause);
  }
  return new ApiError(500, "Internal Server Error");
}

/** 503 when the provider (or our budget for it) wants us to wait, 504 when it was too slow. */
function ofProvider(error: ProviderError): ApiError {
  const refuses = error.status === 402 || error.status === 418 || error.status === 429;
  if (refuses || error.retryAt !== null) {
    const wait = error.retryAt === null ? 60 : (error.retryAt - Date.now()) / 1000;
    return new ApiError(503, "The chain provider takes no calls at the moment", {
      retryAfter: Math.max(1, Math.ceil(wait)),
    });
  }
  const timedOut = [...causes(error)].some((cause) => /Timeout|Abort/.test(cause.name));
  return timedOut
    ? new ApiError(504, "The chain provider did not answer in time", { retryAfter: 5 })
    : new ApiError(502, "The chain provider failed");
}

function* causes(error: unknown): Generator<Error> {
  // Eight is more than any wrapper nests, and ends a circle.
  for (let at = error, depth = 0; at instanceof Error && depth < 8; at = at.cause, depth++)
    yield at;
}

function report(error: unknown, status: number, c: AppContext): void {
  // The innermost error: wrappers repeat statements with their parameters, which may be secret.
  const root = [...causes(error)].at(-1);
  log("error", "request failed", {
    requestId: c.var.requestId,
    method: c.req.method,
    path: c.req.path,
    status,
    error: root?.name ?? typeof error,
    message: root?.message ?? String(error),
    stack: root?.stack,
  });
}
