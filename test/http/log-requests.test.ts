import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { readPollLogRate } from "../../src/env.ts";
import { app, emptyTables } from "../support/app.ts";
import { wrapD1 } from "../support/d1.ts";

let lines: Record<string, unknown>[];

beforeEach(async () => {
  await emptyTables();
  lines = [];
  vi.spyOn(console, "info").mockImplementation((line: string) => {
    const parsed = JSON.parse(line) as Record<string, unknown>;
    if (parsed.event === "request.answered") lines.push(parsed);
  });
});
afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
});

const ADMIN = { token: env.ADMIN_KEY ?? "" };
const LIST = "/api/v1/api-key";

function send(
  path: string,
  { overrides = {}, ...init }: RequestInit & { overrides?: object } = {},
): Promise<Response> {
  return Promise.resolve(app.request(path, { headers: ADMIN, ...init }, { ...env, ...overrides }));
}

const post = (path: string, body: object, overrides: object = {}) =>
  send(path, { method: "POST", body: JSON.stringify(body), overrides });

describe("a poll", () => {
  it.each([
    ["all", 1],
    ["off", 0],
    ["0.01", 0],
    ["0.7", 1],
  ])("with LOG_POLLS %s has %i lines where chance says 0.5", async (setting, count) => {
    vi.spyOn(Math, "random").mockReturnValue(0.5);
    const answer = await send(LIST, { overrides: { LOG_POLLS: setting } });
    const line = {
      event: "request.answered",
      requestId: answer.headers.get("x-request-id"),
      method: "GET",
      path: LIST,
      operation: "listApiKeys",
      status: 200,
      ms: expect.any(Number),
      apiKey: "env-admin",
    };
    expect(lines).toEqual(Array(count).fill(line));
  });

  it("by POST, of a stranger, or of no endpoint has none either with `off`", async () => {
    const off = { LOG_POLLS: "off" };
    await post("/api/v1/registry-entry-search", { network: "Preprod", query: "a" }, off);
    await post("/mcp", { jsonrpc: "2.0", id: 1, method: "ping" }, off);
    await send("/nowhere", { method: "POST", overrides: off });
    await send(LIST, { method: "POST", headers: {}, body: "{}", overrides: off });
    expect(lines).toEqual([]);
  });

  it("is always logged when it fails, or is slow", async () => {
    const failing = wrapD1(env.DB, () => Promise.reject(new Error("D1_ERROR: no such table")));
    const overrides = { LOG_POLLS: "off", DB: failing };
    expect((await send(LIST, { overrides })).status).toBe(500);
    vi.useFakeTimers({ toFake: ["Date"] });
    const slow = wrapD1(env.DB, (_, run) => {
      vi.setSystemTime(Date.now() + 1_001);
      return run();
    });
    await send(LIST, { overrides: { LOG_POLLS: "off", DB: slow } });
    expect(lines).toMatchObject([{ status: 500 }, { status: 200 }]);
  });
});

it("A write is always logged, refused or not, and never with what it carries", async () => {
  const off = { LOG_POLLS: "off" };
  const created = await post(`${LIST}?network=secret`, { permission: "Read" }, off);
  const refused = await post(LIST, { permission: "Nobody" }, off);
  expect(lines).toMatchObject([
    { operation: "createApiKey", status: created.status },
    { operation: "createApiKey", status: refused.status },
  ]);
  expect(JSON.stringify(lines)).not.toContain("secret");
});

it("`LOG_POLLS` that is no share between 0 and 1 means a hundredth", () => {
  const rates = ["", " ", "all", "off", "0", "1", "0.25", "2", "-1", "some", undefined].map(
    (LOG_POLLS) => readPollLogRate(LOG_POLLS === undefined ? {} : { LOG_POLLS }),
  );
  expect(rates).toEqual([0.01, 0.01, 1, 0, 0, 1, 0.25, 0.01, 0.01, 0.01, 0.01]);
});
