import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { emptyTables } from "../support/app.ts";
import { wrapD1 } from "../support/d1.ts";
import { sweep } from "../support/effort.ts";
import { fleet, insertBots, insertVersions, migrate, moves } from "./fleet.ts";

/** Three batches of moves. */
const BOTS = 1_100;
/** A lease lasts as long as a request may, which vitest.config.ts says. */
const AFTER_ANY_LEASE_MS = 101_000;

async function freshFleet(): Promise<void> {
  await emptyTables();
  await insertVersions("v1", "v2");
  await insertBots([...Array(BOTS).fill("v1"), "v2", "!v1"]);
}

/** Everything of the database is dead from the k-th call on, before or after that call applied. */
function crashAt(k: number, when: "before" | "after") {
  let calls = 0;
  const d1 = wrapD1(env.DB, async (_, run) => {
    const n = ++calls;
    if (n > k || (n === k && when === "before")) throw new Error("the process was stopped");
    const result = await run();
    if (n === k) throw new Error("the process was stopped");
    return result;
  });
  return { d1, calls: () => calls };
}

async function expectAllMovedOnce(context: string): Promise<void> {
  expect(await fleet(), context).toEqual([...Array(BOTS).fill("v2"), "v2", "!v1"]);
  const rows = await moves();
  expect(new Set(rows.map(({ bot }) => bot)).size, context).toBe(BOTS);
  expect(rows, context).toHaveLength(BOTS);
  expect(rows.every(({ outcome }) => outcome === "Moved")).toBe(true);
}

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["Date"] });
  vi.spyOn(console, "error").mockImplementation(() => {});
  vi.spyOn(console, "warn").mockImplementation(() => {});
});
afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

describe("a migration that dies at any call of the database", () => {
  it.each(["before", "after"] as const)(
    "keeps each move with its audit row, and running it again moves the rest (%s it applied)",
    async (when) => {
      await freshFleet();
      const whole = crashAt(Number.POSITIVE_INFINITY, when);
      await migrate({ toVersionId: "v2" }, { env: { DB: whole.d1 } });
      await expectAllMovedOnce("nothing died");
      expect(whole.calls()).toBeGreaterThanOrEqual(7);

      for (const k of sweep(5, whole.calls())) {
        await freshFleet();
        await migrate({ toVersionId: "v2" }, { env: { DB: crashAt(k, when).d1 } });
        const done = (await moves()).length;
        expect((await fleet()).filter((version) => version === "v2")).toHaveLength(done + 1);

        vi.setSystemTime(Date.now() + AFTER_ANY_LEASE_MS);
        const { status, body } = await migrate({ toVersionId: "v2" });
        expect(status).toBe(200);
        expect(body.data).toMatchObject({
          total: BOTS + 1,
          moved: BOTS - done,
          alreadyOnVersion: done + 1,
        });
        await expectAllMovedOnce(`died ${when} call ${k}`);
      }
    },
  );

  it("holds the next one back until its lease has ended", async () => {
    await freshFleet();
    await migrate({ toVersionId: "v2" }, { env: { DB: crashAt(5, "after").d1 } });
    expect((await moves()).length).toBeLessThan(BOTS);
    const early = await migrate({ toVersionId: "v2" });
    expect(early).toMatchObject({ status: 409, body: { kind: "conflict" } });
    vi.setSystemTime(Date.now() + AFTER_ANY_LEASE_MS);
    expect((await migrate({ toVersionId: "v2" })).status).toBe(200);
    await expectAllMovedOnce("after its lease");
  });
});

describe("a migration whose database fails", () => {
  const LOST = "D1_ERROR: Network connection lost.";

  it.each(["before", "after"] as const)(
    "at every other call %s it applied moves each bot once, and counts it once",
    async (when) => {
      await freshFleet();
      let calls = 0;
      const d1 = wrapD1(env.DB, async (_, run) => {
        const fails = ++calls % 2 === 1;
        if (fails && when === "before") throw new Error(LOST);
        const result = await run();
        if (fails) throw new Error(LOST);
        return result;
      });
      const { status, body } = await migrate({ toVersionId: "v2" }, { env: { DB: d1 } });
      expect(status).toBe(200);
      expect(body.data).toMatchObject({ total: BOTS + 1, moved: BOTS, failed: 0 });
      await expectAllMovedOnce(when);
    },
  );

  it("after it let a batch go astray counts a bot as moved that the late batch has moved", async () => {
    await emptyTables();
    await insertVersions("v1", "v2");
    await insertBots(["v1"]);
    let astray: (() => Promise<unknown>) | null = null;
    const d1 = wrapD1(env.DB, async ({ sql }, run) => {
      if (!sql.some((one) => one.includes("INSERT INTO worker_bot_move"))) return run();
      if (astray) await astray();
      else {
        astray = run;
        throw new Error("D1_ERROR: too many SQL variables");
      }
      return run();
    });
    const { body } = await migrate({ toVersionId: "v2" }, { env: { DB: d1 } });
    expect(body.data).toMatchObject({ total: 1, moved: 1, failed: 0, failures: [] });
    expect(await fleet()).toEqual(["v2"]);
    expect(await moves()).toMatchObject([{ outcome: "Moved" }]);
  });

  it("for good answers 503 in the shape of /v1, and 409 is over once its time is", async () => {
    await freshFleet();
    const d1 = wrapD1(env.DB, async (call, run) => {
      if (call.sql.some((sql) => sql.includes("INSERT INTO worker_bot_move")))
        throw new Error(LOST);
      return run();
    });
    const answer = await migrate({ toVersionId: "v2" }, { env: { DB: d1 } });
    expect(answer).toMatchObject({
      status: 503,
      body: {
        error: "ServiceUnavailable",
        message: "The database is unavailable",
        kind: "internal",
        meta: { method: "POST", path: "/v1/admin/worker-bots/versions/migrate" },
      },
    });
    expect(answer.headers.get("retry-after")).toBe("2");
    // It knew that it had failed, so it gave the lock back.
    expect((await migrate({ toVersionId: "v2" })).status).toBe(200);
    await expectAllMovedOnce("after 503");
  });
});

describe("a migration whose database never answers", () => {
  it("answers 503 within the deadline, and may be run again at once", async () => {
    vi.useRealTimers();
    await freshFleet();
    const DB = wrapD1(env.DB, (call, run) =>
      call.sql.some((sql) => sql.includes("INSERT INTO worker_bot_move"))
        ? new Promise(() => {})
        : run(),
    );
    const hanging = { DB, REQUEST_DEADLINE_MS: "300" };
    const answer = await migrate({ toVersionId: "v2" }, { env: hanging });
    expect(answer).toMatchObject({ status: 503, body: { kind: "internal" } });
    expect((await migrate({ toVersionId: "v2" })).status).toBe(200);
    await expectAllMovedOnce("after the deadline");
  });
});

describe("a batch of moves that arrives late", () => {
  it("changes nothing once another migration has the lock", async () => {
    await freshFleet();
    const held: (() => Promise<unknown>)[] = [];
    const d1 = wrapD1(env.DB, (call, run) => {
      if (!call.sql.some((sql) => sql.includes("INSERT INTO worker_bot_move"))) return run();
      held.push(run);
      return Promise.reject(new Error("D1_ERROR: D1 DB is overloaded. Too many requests queued."));
    });
    expect((await migrate({ toVersionId: "v2" }, { env: { DB: d1 } })).status).toBe(503);
    await migrate({ toVersionId: "v1" });
    const before = { fleet: await fleet(), moves: await moves() };
    for (const run of held) await expect(run()).rejects.toThrow(/worker_bot_lock.migration_id/);
    expect(held.length).toBeGreaterThan(0);
    expect({ fleet: await fleet(), moves: await moves() }).toEqual(before);
  });
});
