import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { Agent, type IncomingMessage, request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { buildWorker } from "../../devnet/build.ts";
import { type Host, startHost } from "../../devnet/host.ts";
import { developmentSecrets } from "../../devnet/secrets.ts";
import { sized } from "../support/effort.ts";

/** Larger bodies are refused. */
const MAX_BODY_BYTES = 1024 * 1024;
const KEPT_CONNECTIONS = 4;
const ROUNDS = sized(3, 10);

let folder: string;
let host: Host;
let token: string;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "connections-"));
  const bindings = developmentSecrets(join(folder, ".dev.vars"));
  const { path: bundle } = await buildWorker(join(folder, "bundle"));
  host = await startHost({ bindings, bundle, rateLimits: false });
  token = bindings.ADMIN_KEY;
});

afterAll(async () => {
  await host?.close();
  rmSync(folder, { recursive: true });
});

const small = "{}";
const large = "x".repeat(MAX_BODY_BYTES - 1);
const tooLarge = "x".repeat(MAX_BODY_BYTES + 200_000);

/** Requests whose body the service has no use for. */
const UNREAD: [what: string, status: number, method: string, path: string, body: string][] = [
  ["a body without a key", 401, "POST", "/api/v1/api-key", small],
  ["a large body without a key", 401, "POST", "/api/v1/api-key", large],
  ["a body to nowhere", 404, "POST", "/api/v1/nothing", small],
  ["a body with a method that is not allowed", 405, "PUT", "/api/v1/api-key", small],
  ["a body that is too large", 413, "POST", "/api/v1/api-key", tooLarge],
  ["a body with a GET", 200, "GET", "/api/v1/health", small],
  ["a large body with a GET", 200, "GET", "/api/v1/health", large],
  ["a body with OPTIONS", 204, "OPTIONS", "/api/v1/api-key", large],
];

it.each(UNREAD)(
  "a client that reuses its connections and sends %s gets %i each time",
  async (_, status, method, path, body) => {
    const agent = new Agent({ keepAlive: true, maxSockets: KEPT_CONNECTIONS });
    const headers = status === 413 ? { token } : {};
    const ask = async (chunked: boolean): Promise<number | undefined> => {
      const sent = request(`${host.url}${path}`, { method, agent, headers });
      if (chunked) sent.setHeader("transfer-encoding", "chunked");
      else sent.setHeader("content-length", body.length);
      sent.end(body);
      const [answer] = (await once(sent, "response")) as [IncomingMessage];
      await once(answer.resume(), "end");
      return answer.statusCode;
    };
    const client = async (_: unknown, which: number) => {
      const statuses = [];
      for (let round = 0; round < ROUNDS; round++) statuses.push(await ask(which % 2 === 0));
      return statuses;
    };
    const answered = await Promise.all(Array.from({ length: KEPT_CONNECTIONS }, client));
    agent.destroy();
    expect(answered.flat()).toEqual(Array(KEPT_CONNECTIONS * ROUNDS).fill(status));
  },
);
