import { env } from "cloudflare:workers";
import { expect, vi } from "vitest";
import type { createApp } from "../../src/app.ts";
import type { Env } from "../../src/env.ts";
import { checkerOf, type Document } from "../support/endpoints/document.ts";

interface ToolAnswer {
  result: { content: { text: string }[] };
}

/** A separate service, with the variable `WIRE_NAMES` of its deployment. */
export interface ExternalApp {
  /** The text of its OpenAPI document. */
  document: string;
  /** Sends a request. A successful answer must be as the document describes it. */
  request(
    method: string,
    path: string,
    options?: { body?: object; token?: string; env?: Env },
    // biome-ignore lint/suspicious/noExplicitAny: the assertions are what checks the answer's shape
  ): Promise<{ status: number; data: any; error: any }>;
  /** Calls a tool of the Model Context Protocol, and reads what it shows. */
  // biome-ignore lint/suspicious/noExplicitAny: the same
  callTool(name: string, token: string): Promise<any>;
}

/** Starts a service with our own names, and one with those of other services. */
export async function startBoth(): Promise<{ own: ExternalApp; external: ExternalApp }> {
  return { own: await startApp(undefined), external: await startApp("cardano") };
}

/** Starts a service anew: the spelling of names is read when it starts. */
export async function startApp(wireNames: "cardano" | undefined): Promise<ExternalApp> {
  if (wireNames === undefined) vi.unstubAllEnvs();
  else vi.stubEnv("WIRE_NAMES", wireNames);
  vi.resetModules();
  const app: ReturnType<typeof createApp> = (await import("../../src/app.ts")).createApp();
  const document = await (await app.request("/api/v1/openapi.json", {}, env)).text();
  const problemsOf = checkerOf(JSON.parse(document) as Document);
  return {
    document,
    async request(method, path, options = {}) {
      const { body, token = env.ADMIN_KEY ?? "", env: bindings = env } = options;
      const init = { method, headers: { token }, ...(body && { body: JSON.stringify(body) }) };
      const response = await app.request(path, init, bindings);
      const { status } = response;
      const answer = (await response.json()) as { data: unknown; error: unknown };
      const [pathname = ""] = path.split("?");
      if (status === 200) expect(problemsOf(method, pathname, status, answer)).toEqual([]);
      return { status, data: answer.data, error: answer.error };
    },
    async callTool(name, token) {
      const message = { method: "tools/call", params: { name, arguments: {} } };
      const init = {
        method: "POST",
        headers: { authorization: `Bearer ${token}` },
        body: JSON.stringify({ jsonrpc: "2.0", id: 1, ...message }),
      };
      const answer = (await (await app.request("/mcp", init, env)).json()) as ToolAnswer;
      return JSON.parse(answer.result.content[0]?.text ?? "{}");
    },
  };
}
