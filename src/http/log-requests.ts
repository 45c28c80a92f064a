import type { MiddlewareHandler } from "hono";
import { readPollLogRate } from "../env.ts";
import { log } from "../log.ts";
import type { AppContext, AppEnv } from "./context.ts";

/** A poll that takes longer is logged whatever `LOG_POLLS` says. */
const SLOW_POLL_MS = 1_000;

/** Operations that only read, although they are no GET. */
const READING_OPERATION_PATTERN = /^(diff|list|resolve|search)[A-Z]/;

/**
 * Logs one line for each write, and for each request that fails on our side or is slow. Of all other requests,
 * the polls, `LOG_POLLS` says how many are logged.
 */
export const logRequests: MiddlewareHandler<AppEnv> = async (c, next) => {
  const startedAt = Date.now();
  await next();
  const { status } = c.res;
  const ms = Date.now() - startedAt;
  const isAlwaysLogged = isWrite(c, status) || status >= 500 || ms > SLOW_POLL_MS;
  if (!isAlwaysLogged && Math.random() >= readPollLogRate(c.env)) return;
  log("info", "request.answered", {
    requestId: c.var.requestId,
    method: c.req.method,
    path: c.req.path,
    operation: c.get("operationId"),
    status,
    ms,
    apiKey: c.get("caller")?.id,
  });
};

/** Whether a request may have changed something. Strangers and callers beyond their limits have not. */
function isWrite(c: AppContext, status: number): boolean {
  const operation = c.get("operationId");
  if (operation === undefined || c.req.method === "GET" || c.req.method === "HEAD") return false;
  return !READING_OPERATION_PATTERN.test(operation) && status !== 401 && status !== 429;
}
