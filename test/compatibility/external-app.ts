import { env } from "cloudflare:workers";
import { vi } from "vitest";
import type { createApp } from "../../src/app.ts";
import type { Env } from "../../src/env.ts";

/** Requests to a service of its own, with the variable `WIRE_NAMES` of its deployment. */
export interface ExternalApp {
  request(
    method: string,
    path: string,
    options?: { body?: object; token?: string; env?: Env },
    // biome-ignore lint/suspicious/noExplicitAny: the assertions are what checks the answer's shape
  ): Promise<{ status: number; data: any; error: any; text: string }>;
}

/** Starts a service anew: the spelling of names is read when it starts. */
export async function startApp(wireNames: "cardano" | undefined): Promise<ExternalApp> {
  if (wireNames === undefined) vi.unstubAllEnvs();
  else vi.stubEnv("WIRE_NAMES", wireNames);
  vi.resetModules();
  const app: ReturnType<typeof createApp> = (await import("../../src/app.ts")).createApp();
  return {
    async request(method, path, options = {}) {
      const { body, token = env.ADMIN_KEY ?? "", env: bindings = env } = options;
      const init = { method, headers: { token }, ...(body && { body: JSON.stringify(body) }) };
      const response = await app.request(path, init, bindings);
      const text = await response.text();
      const { data, error } = JSON.parse(text);
      return { status: response.status, data, error, text };
    },
  };
}
