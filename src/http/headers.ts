import type { MiddlewareHandler } from "hono";
import { cors } from "hono/cors";
import { newId } from "../db/id.ts";
import type { AppEnv } from "./context.ts";

/** Gives the request an id and returns it in `x-request-id`. A caller's own id is not adopted. */
export const assignRequestId: MiddlewareHandler<AppEnv> = async (c, next) => {
  c.set("requestId", newId(Date.now()));
  await next();
  c.res.headers.set("x-request-id", c.var.requestId);
};

const EXPOSED_HEADERS = [
  "x-request-id",
  "retry-after",
  "x-d1-bookmark",
  "etag",
  "link",
  "ratelimit",
  "ratelimit-policy",
  "x-ignored-fields",
];

const handlePreflight = cors({
  origin: "*",
  allowMethods: ["GET", "POST", "PATCH", "DELETE", "OPTIONS"],
  allowHeaders: [
    "token",
    "authorization",
    "content-type",
    "x-d1-bookmark",
    "idempotency-key",
    "if-none-match",
    "mcp-protocol-version",
  ],
  exposeHeaders: EXPOSED_HEADERS,
  maxAge: 86_400,
});

/**
 * Any origin may call: the API key decides, and no cookie is ever read. Hono's own middleware sets its
 * headers before there is an answer: then the answer is copied, with its headers and its body as a stream.
 */
export const allowAnyOrigin: MiddlewareHandler<AppEnv> = async (c, next) => {
  if (c.req.method === "OPTIONS") return handlePreflight(c, next);
  await next();
  c.res.headers.set("access-control-allow-origin", "*");
  c.res.headers.set("access-control-expose-headers", EXPOSED_HEADERS.join(","));
};

const SECURITY_HEADERS = {
  "cache-control": "no-store",
  "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
  "cross-origin-resource-policy": "cross-origin",
  "referrer-policy": "no-referrer",
  "strict-transport-security": "max-age=31536000; includeSubDomains",
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
};

/** Nothing is cached, framed or sniffed, unless the answer itself says otherwise. */
export const setSecurityHeaders: MiddlewareHandler<AppEnv> = async (c, next) => {
  await next();
  for (const [name, value] of Object.entries(SECURITY_HEADERS))
    if (!c.res.headers.has(name)) c.res.headers.set(name, value);
};
