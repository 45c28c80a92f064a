import { env } from "cloudflare:workers";
import fc from "fast-check";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { emptyTables } from "../support/app.ts";
import { wrapD1 } from "../support/d1.ts";
import { runs } from "../support/effort.ts";
import { insertKey } from "../support/keys.ts";
import { ask, botId, fleet, insertBots, insertVersions, MIGRATE, migrate, moves } from "./fleet.ts";

const ISO = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

beforeEach(async () => {
  await emptyTables();
  await insertVersions("v1", "v2", "v3");
});

/** Makes the database refuse to change these bots, until they are let go. */
async function refuseToMove(...bots: number[]): Promise<() => Promise<void>> {
  const ids = bots.map((n) => `'${botId(n)}'`).join(", ");
  await env.DB.prepare(
    `CREATE TRIGGER refuse BEFORE UPDATE ON worker_bot WHEN NEW.id IN (${ids})
     BEGIN SELECT RAISE(ABORT, 'an inner secret'); END`,
  ).run();
  return async () => void (await env.DB.prepare("DROP TRIGGER refuse").run());
}

describe("POST /v1/admin/worker-bots/versions/migrate 200", () => {
  it("moves the fleet, leaves what is there and what is archived, and says so", async () => {
    await insertBots(["v1", "v2", "v3", "!v1", "v2"]);
    const { status, headers, body } = await migrate({ toVersionId: "v2" });
    expect(status).toBe(200);
    expect(body).toEqual({
      data: {
        total: 4,
        moved: 2,
        alreadyOnVersion: 2,
        failed: 0,
        failures: [],
        remaining: 0,
      },
      meta: {
        timestamp: expect.stringMatching(ISO),
        requestId: headers.get("x-request-id"),
        pagination: { cursor: null, limit: 100, total: 0, nextCursor: null },
      },
    });
    expect(await fleet()).toEqual(["v2", "v2", "v2", "!v1", "v2"]);
  });

  it("moves only the bots on fromVersionId when it is given", async () => {
    await insertBots(["v1", "v2", "v3", "v1"]);
    const { body } = await migrate({ toVersionId: "v2", fromVersionId: "v1" });
    expect(body.data).toMatchObject({ total: 2, moved: 2, alreadyOnVersion: 0 });
    expect(await fleet()).toEqual(["v2", "v2", "v3", "v2"]);
  });

  it("finds everything on the version when both are the same", async () => {
    await insertBots(["v1", "v2"]);
    const { body } = await migrate({ toVersionId: "v1", fromVersionId: "v1" });
    expect(body.data).toMatchObject({ total: 1, moved: 0, alreadyOnVersion: 1 });
  });

  it("answers an empty fleet with nothing done", async () => {
    const { status, body } = await migrate({ toVersionId: "v1" });
    expect(status).toBe(200);
    expect(body.data).toMatchObject({ total: 0, moved: 0, alreadyOnVersion: 0, failed: 0 });
  });

  it("changes nothing and writes no second move when it is run twice", async () => {
    await insertBots(["v1", "v3", "v2"]);
    await migrate({ toVersionId: "v2" });
    const before = { fleet: await fleet(), moves: await moves() };
    const { body } = await migrate({ toVersionId: "v2" });
    expect(body.data).toMatchObject({ total: 3, moved: 0, alreadyOnVersion: 3 });
    expect({ fleet: await fleet(), moves: await moves() }).toEqual(before);
  });

  it("leaves who, when, from, to, why, outcome and request of each move", async () => {
    await insertBots(["v1", "v3"]);
    const token = await insertKey({ id: "the-admin", permission: "Admin" });
    const { headers } = await migrate(
      { toVersionId: "v2", reason: "  slow answers\n" },
      { token, headers: { token: "not looked at" } },
    );
    const { body } = await ask("/moves");
    const common = {
      id: expect.any(String),
      toVersionId: "v2",
      reason: "slow answers",
      outcome: "Moved",
      message: null,
      requestedById: "the-admin",
      requestId: headers.get("x-request-id"),
      createdAt: expect.stringMatching(ISO),
    };
    expect(body.data.moves).toEqual([
      { ...common, workerBotId: botId(1), fromVersionId: "v3" },
      { ...common, workerBotId: botId(0), fromVersionId: "v1" },
    ]);
    const audit = await env.DB.prepare("SELECT * FROM audit").all<{ detail: string }>();
    expect(audit.results).toMatchObject([
      { api_key_id: "the-admin", action: "worker-bot.migrate", target: "v2" },
    ]);
    expect(audit.results[0]?.detail).toContain("slow answers");
  });

  it("counts a bot that the database refuses, names it, and moves the others", async () => {
    const logged = vi.spyOn(console, "error").mockImplementation(() => {});
    await insertBots(Array(1200).fill("v1"));
    const letGo = await refuseToMove(0, 499, 700, 701);
    try {
      const { status, body } = await migrate({ toVersionId: "v2" });
      expect(status).toBe(200);
      expect(body.data).toMatchObject({ total: 1200, moved: 1196, failed: 4, remaining: 0 });
      expect(body.data.failures).toEqual(
        [0, 499, 700, 701].map((n) => ({
          workerBotId: botId(n),
          message: "The database refused the move",
        })),
      );
      expect(body.meta.pagination.total).toBe(4);
    } finally {
      await letGo();
    }
    expect(logged).toHaveBeenCalledTimes(4);
    const rows = await moves();
    expect(rows).toHaveLength(1200);
    expect(rows.filter(({ outcome }) => outcome === "Failed").map(({ bot }) => bot)).toEqual(
      [0, 499, 700, 701].map(botId),
    );

    const again = await migrate({ toVersionId: "v2" });
    expect(again.body.data).toMatchObject({ total: 1200, moved: 4, alreadyOnVersion: 1196 });
    expect(new Set(await fleet())).toEqual(new Set(["v2"]));
    logged.mockRestore();
  });

  it("lists a hundred failures and counts all of them", async () => {
    const logged = vi.spyOn(console, "error").mockImplementation(() => {});
    const letGo = await refuseToMove(...Array(130).keys());
    await insertBots(Array(140).fill("v1"));
    try {
      const { body } = await migrate({ toVersionId: "v2" });
      expect(body.data).toMatchObject({ total: 140, moved: 10, failed: 130 });
      expect(body.data.failures).toHaveLength(100);
      expect(body.meta.pagination).toMatchObject({ limit: 100, total: 130, nextCursor: null });
    } finally {
      await letGo();
    }
    logged.mockRestore();
    let seen: string[] = [];
    for (let cursor: string | null = ""; cursor !== null; ) {
      const query: string = cursor === "" ? "" : `&cursorId=${cursor}`;
      const { body } = await ask(`/moves?outcome=Failed&limit=100${query}`);
      seen = seen.concat(body.data.moves.map((move: { workerBotId: string }) => move.workerBotId));
      cursor = body.meta.pagination.nextCursor;
    }
    expect(seen.sort()).toEqual([...Array(130).keys()].map(botId));
  });

  it("counts a bot that is archived while the migration runs as failed", async () => {
    await insertBots(["v1", "v1"]);
    const archivesFirst = wrapD1(env.DB, async (call, run) => {
      if (call.sql.some((sql) => sql.includes("INSERT INTO worker_bot_move")))
        await env.DB.prepare("UPDATE worker_bot SET status = 'Archived' WHERE id = ?")
          .bind(botId(0))
          .run();
      return run();
    });
    const { body } = await migrate({ toVersionId: "v2" }, { env: { DB: archivesFirst } });
    expect(body.data).toMatchObject({ total: 2, moved: 1, failed: 1 });
    expect(body.data.failures).toEqual([
      { workerBotId: botId(0), message: "The worker bot was archived during the migration" },
    ]);
    expect(await fleet()).toEqual(["!v1", "v2"]);
    expect(await moves()).toMatchObject([{ outcome: "Failed" }, { outcome: "Moved" }]);
  });

  it("moves 10,000 bots in one call, tells what remains, and moves it with the next", async () => {
    await insertBots([...Array(10_003).fill("v1"), "v2", "!v1"]);
    const first = await migrate({ toVersionId: "v2" });
    expect(first.body.data).toMatchObject({
      total: 10_004,
      moved: 10_000,
      alreadyOnVersion: 1,
      failed: 0,
      remaining: 3,
    });
    const second = await migrate({ toVersionId: "v2" });
    expect(second.body.data).toMatchObject({ total: 10_004, moved: 3, remaining: 0 });
    expect(await moves()).toHaveLength(10_003);
  });

  it("ends any fleet on the version, whatever the order of migrations, each move audited", async () => {
    const version = fc.constantFrom("v1", "v2", "v3");
    const bot = fc.oneof(
      version,
      version.map((id) => `!${id}`),
    );
    const run = fc.record({ to: version, from: fc.option(version, { nil: undefined }) });
    const runsOf = fc.array(run, { minLength: 1, maxLength: 4 });
    await fc.assert(
      fc.asyncProperty(fc.array(bot, { maxLength: 12 }), runsOf, async (bots, runs) => {
        await emptyTables();
        await insertVersions("v1", "v2", "v3");
        await insertBots(bots);
        let expected = bots;
        let moved = 0;
        for (const { to, from } of runs) {
          const matches = (one: string) =>
            !one.startsWith("!") && (from === undefined || one === from);
          const already = expected.filter((one) => matches(one) && one === to).length;
          const total = expected.filter(matches).length;
          const { body } = await migrate({ toVersionId: to, ...(from && { fromVersionId: from }) });
          expect(body.data).toMatchObject({
            total,
            moved: total - already,
            alreadyOnVersion: already,
            failed: 0,
          });
          expected = expected.map((one) => (matches(one) ? to : one));
          moved += total - already;
          expect(await fleet()).toEqual(expected);
        }
        expect(await moves()).toHaveLength(moved);
      }),
      runs(10, 400),
    );
  });
});

describe("POST /v1/admin/worker-bots/versions/migrate 422", () => {
  it.each([
    ["toVersionId", { toVersionId: "v9" }],
    ["fromVersionId", { toVersionId: "v1", fromVersionId: "v9" }],
  ])("unknown_version when %s names none", async (field, body) => {
    await insertBots(["v1", "v2"]);
    const answer = await migrate(body);
    expect(answer.status).toBe(422);
    expect(answer.body).toMatchObject({
      error: "UnprocessableEntity",
      kind: "unknown_version",
      message: expect.stringContaining(`${field}: there is no version v9`),
    });
    expect(await fleet()).toEqual(["v1", "v2"]);
    expect(await moves()).toEqual([]);
  });

  it("unknown_version when toVersionId is archived, also in the same moment", async () => {
    await insertBots(["v1"]);
    const archive = () =>
      env.DB.prepare("UPDATE worker_bot_version SET status = 'Archived' WHERE id = 'v2'").run();
    const archivesFirst = wrapD1(env.DB, async (call, run) => {
      if (call.sql.some((sql) => sql.includes("INSERT INTO worker_bot_move"))) await archive();
      return run();
    });
    for (const DB of [archivesFirst, env.DB]) {
      const answer = await migrate({ toVersionId: "v2" }, { env: { DB } });
      expect(answer).toMatchObject({ status: 422, body: { kind: "unknown_version" } });
    }
    expect(await fleet()).toEqual(["v1"]);
    expect(await moves()).toEqual([]);
  });
});

describe("POST /v1/admin/worker-bots/versions/migrate 409", () => {
  it("for a second run at the same time; the first goes on", async () => {
    await insertBots(Array(1500).fill("v1"));
    let second: Promise<Awaited<ReturnType<typeof migrate>>> | undefined;
    const meanwhile = wrapD1(env.DB, async (call, run) => {
      const result = await run();
      if (call.sql.some((sql) => sql.includes("INSERT INTO worker_bot_move"))) {
        second ??= migrate({ toVersionId: "v3" });
        await second;
      }
      return result;
    });
    const first = await migrate({ toVersionId: "v2" }, { env: { DB: meanwhile } });
    expect(first.body.data).toMatchObject({ total: 1500, moved: 1500 });
    const refused = await second;
    expect(refused).toMatchObject({
      status: 409,
      body: { error: "Conflict", kind: "conflict", message: expect.stringContaining("running") },
    });
    expect(refused?.headers.get("retry-after")).toBe("5");
    expect(new Set(await fleet())).toEqual(new Set(["v2"]));
    expect((await moves()).every(({ to }) => to === "v2")).toBe(true);
    expect((await migrate({ toVersionId: "v3" })).status).toBe(200);
  });

  it("for a run that has lost the lock to another, which did what it was asked", async () => {
    await insertBots(Array(600).fill("v1"));
    let taken = false;
    const overtaken = wrapD1(env.DB, async (call, run) => {
      const result = await run();
      if (!taken && call.sql.some((sql) => sql.includes("INSERT INTO worker_bot_move"))) {
        taken = true;
        await env.DB.prepare("UPDATE worker_bot_lock SET lease_until = 0").run();
        await migrate({ toVersionId: "v3" });
      }
      return result;
    });
    const slow = await migrate({ toVersionId: "v2" }, { env: { DB: overtaken } });
    expect(slow).toMatchObject({ status: 409, body: { kind: "conflict" } });
    expect(new Set(await fleet())).toEqual(new Set(["v3"]));
  });

  it("for all but one of many at once", async () => {
    await insertBots(Array(600).fill("v1"));
    const runs = await Promise.all(Array.from({ length: 6 }, () => migrate({ toVersionId: "v2" })));
    const statuses = runs.map(({ status }) => status).sort();
    expect(statuses[0]).toBe(200);
    // One that came after the first had ended finds nothing to do.
    expect(statuses.every((status) => status === 200 || status === 409)).toBe(true);
    expect(await moves()).toHaveLength(600);
    expect(new Set(await fleet())).toEqual(new Set(["v2"]));
  });
});

describe("POST /v1/admin/worker-bots/versions/migrate at its path", () => {
  it("answers with a trailing slash and at any content type", async () => {
    const answer = await ask(`${MIGRATE}/`, {
      body: '{"toVersionId":"v2","reason":"r"}',
      headers: { "content-type": "text/plain" },
    });
    expect(answer.status).toBe(200);
  });
});
