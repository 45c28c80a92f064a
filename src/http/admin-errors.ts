/** The shape of errors under /v1, the paths of the admin operations. */

import type { ContentfulStatusCode } from "hono/utils/http-status";
import * as z from "zod";
import type { AppContext } from "./context.ts";
import { toIsoTime } from "./envelope.ts";
import { described, named, textField, timestampField } from "./openapi/fields.ts";

const ADMIN_ERROR_KINDS = [
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

/** Programs distinguish errors by the kind, not by the message. */
export type AdminErrorKind = (typeof ADMIN_ERROR_KINDS)[number];

/** The body of every error under /v1. */
export const adminErrorBody = named(
  "AdminError",
  "An error under /v1.",
  z.object({
    error: textField("Name of the HTTP status.", "Conflict"),
    message: textField("Explanation for people.", "id: there is no version v9"),
    kind: described(
      named("AdminErrorKind", "Code of an error under /v1.", z.enum(ADMIN_ERROR_KINDS)),
      "Code for programs.",
      "not_found",
    ),
    meta: described(
      z.object({
        timestamp: timestampField("Time of the response."),
        requestId: textField("`x-request-id` of the response.", "01m80ye05tw8d5k11en0zccppg"),
        path: textField("Path of the request.", "/v1/admin/worker-bots/versions"),
        method: textField("Method of the request.", "DELETE"),
      }),
      "Details of the request.",
    ),
  }),
);

const ERRORS_BY_STATUS: Record<number, { error: string; kind: AdminErrorKind }> = {
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
const INTERNAL_ERROR = { error: "InternalServerError", kind: "internal" } as const;

/** Whether a path uses the error shape of /v1. */
export function isAdminPath(path: string): boolean {
  return path === "/v1" || path.startsWith("/v1/");
}

/** Answers an error of a path under /v1. Invalid input is 422 there, never 400. */
export function createAdminErrorResponse(
  known: {
    status: ContentfulStatusCode;
    message: string;
    kind: AdminErrorKind | null;
    headers: Readonly<Record<string, string>>;
  },
  c: AppContext,
): Response {
  const status = known.status === 400 ? 422 : known.status;
  const { error, kind } = ERRORS_BY_STATUS[status] ?? INTERNAL_ERROR;
  const body: z.infer<typeof adminErrorBody> = {
    error,
    message: known.message,
    kind: known.kind ?? kind,
    meta: {
      timestamp: toIsoTime(Date.now()),
      requestId: c.var.requestId,
      path: c.req.path,
      method: c.req.method,
    },
  };
  return c.json(body, status, known.headers);
}
