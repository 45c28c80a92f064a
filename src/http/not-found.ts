import type { NotFoundHandler } from "hono";
import type { AppEnv } from "./context.ts";
import { ApiError, createErrorResponse } from "./errors.ts";

/**
 * Answers unknown requests: 405 with `Allow` when the path is known, else 404.
 *
 * @param routes - of the app, read at each call
 */
export function createNotFoundHandler(
  routes: () => readonly { method: string; path: string }[],
): NotFoundHandler<AppEnv> {
  return (c) => {
    // Without the one trailing slash that the router has removed.
    const { path } = c.req;
    const methods = new Set(
      routes()
        .filter((route) => route.path === path && route.method !== "ALL")
        .map((route) => route.method),
    );
    if (methods.size === 0)
      return createErrorResponse(
        new ApiError("unknown_path", `Cannot ${c.req.method} ${c.req.path}`),
        c,
      );
    if (methods.has("GET")) methods.add("HEAD");
    const allow = [...methods, "OPTIONS"];
    const message = `${c.req.method} is not allowed here; allowed: ${allow.join(", ")}`;
    return createErrorResponse(new ApiError(405, message, { allow }), c);
  };
}
