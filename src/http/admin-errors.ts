/** The shape of errors under /v1, where the admin operation lives (interface, Errors). */
import { z } from "@hono/zod-openapi";
import type { ContentfulStatusCode } from "hono/utils/http-status";
import type { AppContext } from "./context.ts";
import { isoTime } from "./envelope.ts";

const KINDS = [
  "unauthorized",
  "forbidden",
  "validation_failed",
  "unknown_version",
  "not_found",
  "method_not_allowed",
  "too_large",
  "rate_limited",
  "conflict",
  "internal",
] as const;

/** What a program can tell errors apart by; decisions §10 lists all of them. */
export type AdminErrorKind = (typeof KINDS)[number];

/** The body of every error under /v1. */
export const adminErrorBody = z
  .object({
    error: z.string().openapi({ description: "The status in a word, such as `Conflict`." }),
    message: z.string(),
    kind: z.enum(KINDS),
    meta: z.object({
      timestamp: z.iso.datetime(),
      requestId: z.string(),
      path: z.string(),
      method: z.string(),
    }),
  })
  .openapi("AdminError");

const OF_STATUS: Record<number, { error: string; kind: AdminErrorKind }> = {
  401: { error: "Unauthorized", kind: "unauthorized" },
  403: { error: "Forbidden", kind: "forbidden" },
  404: { error: "NotFound", kind: "not_found" },
  405: { error: "MethodNotAllowed", kind: "method_not_allowed" },
  409: { error: "Conflict", kind: "conflict" },
  413: { error: "PayloadTooLarge", kind: "too_large" },
  422: { error: "UnprocessableEntity", kind: "validation_failed" },
  429: { error: "TooManyRequests", kind: "rate_limited" },
  503: { error: "ServiceUnavailable", kind: "internal" },
};
const INTERNAL = { error: "InternalServerError", kind: "internal" } as const;

/** Whether a path has the error shape of /v1. */
export function isAdminPath(path: string): boolean {
  return path === "/v1" || path.startsWith("/v1/");
}

/** Answers an error of a path under /v1. What was sent wrongly is 422 there and never 400. */
export function adminErrorResponse(
  known: {
    status: ContentfulStatusCode;
    message: string;
    kind: AdminErrorKind | null;
    headers: Readonly<Record<string, string>>;
  },
  c: AppContext,
): Response {
  const status = known.status === 400 ? 422 : known.status;
  const { error, kind } = OF_STATUS[status] ?? INTERNAL;
  const body: z.infer<typeof adminErrorBody> = {
    error,
    message: known.message,
    kind: known.kind ?? kind,
    meta: {
      timestamp: isoTime(Date.now()),
      requestId: c.var.requestId,
      path: c.req.path,
      method: c.req.method,
    },
  };
  // RFC 9110 §11.6.1: a 401 names the scheme that it wants.
  const challenge = status === 401 ? { "www-authenticate": "Bearer" } : {};
  return c.json(body, status, { ...known.headers, ...challenge });
}
