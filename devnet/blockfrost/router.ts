import { addressHandlers } from "./addresses.ts";
import { assetHandlers } from "./assets.ts";
import { blockHandlers } from "./blocks.ts";
import { parameterHandlers } from "./parameters.ts";
import type { Handler } from "./request.ts";
import { scriptHandlers } from "./scripts.ts";
import { submitHandlers } from "./submit.ts";
import { transactionHandlers } from "./transactions.ts";

/** Keyed by method and path template of the specification; the first that fits is taken. */
const HANDLERS: Record<string, Handler> = {
  "GET /": () => ({ url: "https://blockfrost.io/", version: "0.1.93" }),
  "GET /health": () => ({ is_healthy: true }),
  ...blockHandlers,
  ...addressHandlers,
  ...transactionHandlers,
  ...assetHandlers,
  ...scriptHandlers,
  ...parameterHandlers,
  ...submitHandlers,
};

interface Route {
  /** As in `HANDLERS`. */
  key: string;
  method: string;
  template: string;
  pattern: RegExp;
  handler: Handler;
}

const ROUTES: Route[] = Object.entries(HANDLERS).map(([key, handler]) => {
  const [method = "", template = ""] = key.split(" ");
  const pattern = template.replaceAll(/\{(\w+)\}/g, "(?<$1>[^/]+)");
  return { key, method, template, pattern: new RegExp(`^${pattern}$`), handler };
});

/** Every call that is served, as `GET /txs/{hash}`. */
export const SERVED: readonly string[] = Object.keys(HANDLERS);

export interface RouteMatch {
  /** Method and template, as in `SERVED`. */
  key: string;
  /** Path template of the specification. */
  template: string;
  params: Record<string, string>;
  handler: Handler;
}

/** `null` when nothing is served there. */
export function matchRoute(method: string, path: string): RouteMatch | null {
  for (const route of ROUTES) {
    const match = route.method === method && route.pattern.exec(path);
    if (match) return { ...route, params: { ...match.groups } };
  }
  return null;
}
