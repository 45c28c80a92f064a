import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { createApp } from "../../src/app.ts";
import { db, statement } from "../../src/db/client.ts";
import { loopbackOrigins } from "../../src/http/outbound/loopback-origins.ts";
import { chainClock } from "../../src/sources/chain-clock.ts";
import { LOCAL_CONTRACTS, refuseMixingWithDevelopment } from "../../src/sources/contracts/local.ts";
import { initialCursor } from "../../src/sources/cursor.ts";
import { emptyTables } from "../support/app.ts";
import { wrapD1 } from "../support/d1.ts";

const app = createApp();

async function insertSource(id: string, network: "Preprod" | "Mainnet"): Promise<void> {
  await db(env).batch([
    statement(
      `INSERT INTO payment_source (id, network, type, contract_address, policy_id, admin_wallets,
         fee_rate_permille, cooldown_time, rpc_provider, rpc_provider_api_key, created_by_id,
         created_at, updated_at)
       VALUES (?, ?, 'Web3ChainV1', ?, '', '[]', 0, 0, 'Blockfrost', 'sealed', 'key', 1, 1)`,
      id,
      network,
      `addr_test1${id}`,
    ),
    ...initialCursor({ id, network }, null),
  ]);
}

const health = (DB = env.DB) => app.request("/api/v1/health", {}, { ...env, DB });

beforeEach(emptyTables);

describe("GET /health", () => {
  it("is open to everyone and tells of every source", async () => {
    await insertSource("a", "Preprod");
    await insertSource("b", "Mainnet");
    await env.DB.prepare("UPDATE source_cursor SET last_checked_at = ? WHERE source_id = 'a'")
      .bind(Date.now() - 5_000)
      .run();
    const answer = await health();
    expect(answer.status).toBe(200);
    const { status, data } = (await answer.json()) as {
      status: string;
      data: { status: string; sources: { lastSyncAgeMs: number | null }[] };
    };
    expect([status, data.status]).toEqual(["success", "ok"]);
    expect(data.sources).toEqual([
      { id: "a", network: "Preprod", lastSyncAgeMs: expect.any(Number), error: null },
      { id: "b", network: "Mainnet", lastSyncAgeMs: null, error: null },
    ]);
    const age = data.sources[0]?.lastSyncAgeMs ?? 0;
    expect(age).toBeGreaterThanOrEqual(5_000);
    expect(age).toBeLessThan(60_000);
  });

  it("shows the error of a source, without any address in it", async () => {
    await insertSource("a", "Preprod");
    await env.DB.prepare("UPDATE source_cursor SET error = ?")
      .bind("GET /addresses/addr_test1wcontract/transactions: status 500")
      .run();
    const text = await (await health()).text();
    expect(text).toContain("GET /addresses/<address>/transactions: status 500");
    expect(text).not.toContain("addr_test1");
  });

  it("is 503 when D1 fails", async () => {
    vi.spyOn(console, "error").mockImplementation(() => {});
    const broken = wrapD1(env.DB, async () => {
      throw new Error("D1_ERROR: Network connection lost.");
    });
    const answer = await health(broken);
    vi.restoreAllMocks();
    expect(answer.status).toBe(503);
    expect(answer.headers.get("retry-after")).toBe("2");
    expect(await answer.json()).toMatchObject({
      status: "error",
      error: { message: "The database is unavailable", code: "database_unavailable" },
    });
  });
});

describe("development and real money", () => {
  it.each(LOCAL_CONTRACTS)("never meet at the local contract %s", (scriptHash) => {
    for (const network of ["Preprod", "Mainnet"] as const)
      expect(() => refuseMixingWithDevelopment({}, { network, scriptHash })).toThrow(
        expect.objectContaining({ status: 400 }),
      );
  });

  it("never meet on Mainnet while loopback origins are open", () => {
    const development = { LOOPBACK_ORIGINS: "http://127.0.0.1:9000" };
    const source = { network: "Mainnet", scriptHash: "ab".repeat(28) } as const;
    expect(() => refuseMixingWithDevelopment(development, source)).toThrow(
      expect.objectContaining({ status: 409 }),
    );
    expect(() => refuseMixingWithDevelopment({}, source)).not.toThrow();
  });

  it("close the loopback origins as soon as a source is on Mainnet", async () => {
    const origins = { DB: env.DB, LOOPBACK_ORIGINS: "http://127.0.0.1:9000, http://[::1]:1" };
    const deadline = Date.now() + 5_000;
    await insertSource("a", "Preprod");
    expect(await loopbackOrigins(origins, deadline)).toEqual([
      "http://127.0.0.1:9000",
      "http://[::1]:1",
    ]);
    await insertSource("b", "Mainnet");
    expect(await loopbackOrigins(origins, deadline)).toEqual([]);
  });

  it("take the wall clock for the chain's as soon as a source is on Mainnet", async () => {
    const clocks = { DB: env.DB, CHAIN_CLOCK: "tip" };
    const deadline = Date.now() + 5_000;
    expect(await chainClock({ DB: env.DB }, deadline)).toBe("wall");
    await insertSource("a", "Preprod");
    expect(await chainClock(clocks, deadline)).toBe("tip");
    await insertSource("b", "Mainnet");
    expect(await chainClock(clocks, deadline)).toBe("wall");
  });
});
