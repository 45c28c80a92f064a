import { env } from "cloudflare:workers";
import { HTTPFacilitatorClient, x402ResourceServer } from "@x402/core/server";
import type { SchemeNetworkServer } from "@x402/core/types";
import { vi } from "vitest";
import { call } from "../support/app.ts";
import type { X402Fixture } from "./x402-fixture.ts";

const FACILITATOR = "http://service.test/api/v1/x402/facilitator";
const realFetch = globalThis.fetch;

/**
 * The SDK's resource server, which knows nothing of us but the facilitator's address. It replaces the
 * global `fetch`, which `vi.unstubAllGlobals` restores.
 */
export async function openResourceServer(
  { caip2 }: X402Fixture,
  scheme: SchemeNetworkServer,
): Promise<x402ResourceServer> {
  vi.stubGlobal("fetch", (input: RequestInfo | URL, init?: RequestInit) => {
    const { origin, pathname } = new URL(input instanceof Request ? input.url : String(input));
    if (origin !== new URL(FACILITATOR).origin) return realFetch(input, init);
    return call(pathname, { ...init, headers: Object.fromEntries(new Headers(init?.headers)) });
  });
  const headers = { token: env.ADMIN_KEY ?? "" };
  const facilitator = new HTTPFacilitatorClient({
    url: FACILITATOR,
    createAuthHeaders: async () => ({ verify: headers, settle: headers, supported: headers }),
  });
  const server = new x402ResourceServer(facilitator);
  server.register(caip2 as `${string}:${string}`, scheme);
  await server.initialize();
  return server;
}
