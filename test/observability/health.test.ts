import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { app, emptyTables } from "../support/app.ts";
import { wrapD1 } from "../support/d1.ts";
import { insertFollowed } from "../support/sources/sources.ts";

const MINUTE = 60_000;

interface Body {
  status: string;
  data: {
    status: string;
    reasons: { kind: string; count: number }[];
    sources: { id: string; lastSyncAgeMs: number | null; error: string | null }[];
  };
  error?: { code: string; message: string };
}

async function get(path: string, DB = env.DB) {
  const answer = await app.request(`/api/v1${path}`, {}, { ...env, DB });
  return { answer, body: (await answer.json()) as Body };
}

/** A source that was last synced so many milliseconds ago; null: never. */
async function synced(id: string, ago: number | null, of: { error?: string; lease?: number } = {}) {
  await env.DB.prepare(
    "UPDATE source_cursor SET last_checked_at = ?2, error = ?3, lease_until = ?4 WHERE source_id = ?1",
  )
    .bind(id, ago === null ? null : Date.now() - ago, of.error ?? null, of.lease ?? null)
    .run();
}

const brokenD1 = wrapD1(env.DB, async () => {
  throw new Error("D1_ERROR: Network connection lost.");
});

beforeEach(emptyTables);

describe("GET /health", () => {
  it("is open to everyone and tells of every source", async () => {
    await insertFollowed("a", "Preprod");
    await insertFollowed("b", "Mainnet", Date.now());
    await synced("a", 5_000);
    const { answer, body } = await get("/health");
    expect(answer.status).toBe(200);
    const { status, data } = body;
    expect([status, data.status, data.reasons]).toEqual(["success", "ok", []]);
    expect(data.sources).toEqual([
      { id: "a", network: "Preprod", lastSyncAgeMs: expect.any(Number), error: null },
      { id: "b", network: "Mainnet", lastSyncAgeMs: null, error: null },
    ]);
    const age = data.sources[0]?.lastSyncAgeMs ?? 0;
    expect(age).toBeGreaterThanOrEqual(5_000);
    expect(age).toBeLessThan(MINUTE);
  });

  it.each([
    ["that has failed for a minute", MINUTE, { error: "the provider failed" }, 1],
    ["that has just failed", 10_000, { error: "the provider failed" }, 0],
    ["that nobody has read for a quarter of an hour", 15 * MINUTE, {}, 1],
    ["that is being read for so long", 15 * MINUTE, { lease: Date.now() + MINUTE }, 0],
    ["that was never read", null, {}, 1],
  ])("is degraded by a source %s: %j", async (_, ago, state, count) => {
    await insertFollowed("a");
    await synced("a", ago, state);
    const { answer, body } = await get("/health");
    expect(answer.status).toBe(200);
    expect([body.data.status, body.data.reasons]).toEqual(
      count === 0 ? ["ok", []] : ["degraded", [{ kind: "SOURCE_STUCK", count }]],
    );
  });

  it("counts registry sources too, and shows them not", async () => {
    await env.DB.batch([
      env.DB.prepare(
        `INSERT INTO registry_source (id, network, policy_id, rpc_provider_api_key, created_by_id,
           created_at, updated_at) VALUES ('r', 'Preprod', 'ab', 'sealed', 'key', 1, 1)`,
      ),
      env.DB.prepare(
        `INSERT INTO registry_cursor (source_id, network, version, recent, error)
         VALUES ('r', 'Preprod', 0, '[]', 'the provider failed')`,
      ),
    ]);
    const { body } = await get("/health");
    expect(body.data).toEqual({
      status: "degraded",
      reasons: [{ kind: "SOURCE_STUCK", count: 1 }],
      sources: [],
    });
  });

  it("shows the error of a source, without any address in it", async () => {
    await insertFollowed("a");
    await synced("a", 0, { error: "GET /addresses/addr_test1wcontract/transactions: status 500" });
    const { body } = await get("/health");
    expect(body.data.sources[0]?.error).toBe("GET /addresses/<address>/transactions: status 500");
  });
});

describe("GET /health/ready", () => {
  it("is 503 with the same data once a payment source has not synced for too long", async () => {
    await insertFollowed("a");
    await insertFollowed("b", "Mainnet");
    await synced("a", 2 * MINUTE);
    await synced("b", 0);
    const statuses: Record<string, number> = {};
    for (const query of ["", "?maxLagMs=60000", "?maxLagMs=60000&network=Mainnet"])
      statuses[query] = (await get(`/health/ready${query}`)).answer.status;
    expect(statuses).toEqual({
      "": 200,
      "?maxLagMs=60000": 503,
      "?maxLagMs=60000&network=Mainnet": 200,
    });
    const { answer, body } = await get("/health/ready?maxLagMs=60000");
    expect(answer.headers.get("retry-after")).toBe("60");
    expect(body).toMatchObject({
      status: "error",
      error: {
        code: "not_ready",
        message: "A payment source has not synced for 60000 ms",
      },
      data: { status: "ok", sources: [{ id: "a" }, { id: "b" }] },
    });
  });

  it("gives a new source the time to be read first", async () => {
    await insertFollowed("a", "Preprod", Date.now());
    expect((await get("/health/ready")).answer.status).toBe(200);
  });

  it("is ready whatever else is wrong", async () => {
    await insertFollowed("a");
    await synced("a", 2 * MINUTE, { error: "the provider failed" });
    const { answer, body } = await get("/health/ready");
    expect([answer.status, body.data.status]).toEqual([200, "degraded"]);
  });
});

describe.each(["/health", "/health/ready"])("GET %s", (path) => {
  it("is 503 when D1 fails", async () => {
    vi.spyOn(console, "error").mockImplementation(() => {});
    const { answer, body } = await get(path, brokenD1);
    vi.restoreAllMocks();
    expect(answer.status).toBe(503);
    expect(answer.headers.get("retry-after")).toBe("2");
    expect(body).toMatchObject({
      status: "error",
      error: { message: "The database is unavailable", code: "database_unavailable" },
    });
  });
});

describe("GET /health/live", () => {
  it("needs no database", async () => {
    const { answer, body } = await get("/health/live", brokenD1);
    expect([answer.status, body.data]).toEqual([
      200,
      { status: "ok", version: expect.toBeOneOf([null, expect.any(String)]) },
    ]);
  });
});
