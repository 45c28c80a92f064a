import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, it } from "vitest";
import { emptyTables } from "../support/app.ts";
import { wrapD1 } from "../support/d1.ts";
import { ask, botId, insertBots, insertVersions, migrate } from "./fleet.ts";

const ISO = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
const VERSIONS = "/versions";

beforeEach(emptyTables);

async function audited(): Promise<{ action: string; target: string }[]> {
  const { results } = await env.DB.prepare("SELECT action, target FROM audit ORDER BY id").all<{
    action: string;
    target: string;
  }>();
  return results;
}

const createVersion = (id: string) => ask(VERSIONS, { body: { id, name: `Version ${id}` } });
const createBot = (versionId: string, headers = {}) =>
  ask("", { body: { name: "a bot", versionId }, headers });
const archive = (path: string, id: string) => ask(path, { method: "DELETE", body: { id } });

describe("POST /v1/admin/worker-bots/versions", () => {
  it("200 creates a version, with its audit row", async () => {
    const { status, body } = await ask(VERSIONS, {
      body: { id: "v1", name: "One", summary: "The first." },
    });
    expect(status).toBe(200);
    expect(body).toEqual({
      data: {
        id: "v1",
        name: "One",
        summary: "The first.",
        status: "Active",
        createdAt: expect.stringMatching(ISO),
        updatedAt: body.data.createdAt,
      },
      meta: { timestamp: expect.stringMatching(ISO), requestId: expect.any(String) },
    });
    expect(await audited()).toEqual([{ action: "worker-bot-version.create", target: "v1" }]);
  });

  it("409 when the id is taken, also by an archived one; nothing is changed", async () => {
    await createVersion("v1");
    await archive(VERSIONS, "v1");
    const before = await audited();
    expect(await createVersion("v1")).toMatchObject({ status: 409, body: { kind: "conflict" } });
    expect(await audited()).toEqual(before);
  });
});

describe("POST /v1/admin/worker-bots", () => {
  it("200 creates a bot, once per Idempotency-Key", async () => {
    await createVersion("v1");
    const first = await createBot("v1", { "idempotency-key": "k" });
    expect(first.body.data).toEqual({
      id: expect.stringMatching(/^[0-9a-z]{26}$/),
      name: "a bot",
      versionId: "v1",
      status: "Active",
      createdAt: expect.stringMatching(ISO),
      updatedAt: first.body.data.createdAt,
    });
    const again = await createBot("v1", { "idempotency-key": "k" });
    expect(again.body.data).toEqual(first.body.data);
    const other = await ask("", {
      body: { name: "other", versionId: "v1" },
      headers: { "idempotency-key": "k" },
    });
    expect(other).toMatchObject({ status: 422, body: { kind: "validation_failed" } });
    const { body } = await ask("");
    expect(body.data.workerBots).toEqual([first.body.data]);
  });

  it("422 unknown_version when there is none, or it is archived; nothing is written", async () => {
    await createVersion("v1");
    await archive(VERSIONS, "v1");
    const before = await audited();
    for (const version of ["v1", "v9"])
      expect(await createBot(version)).toMatchObject({
        status: 422,
        body: { kind: "unknown_version", message: expect.stringMatching(/^versionId: /) },
      });
    expect(await audited()).toEqual(before);
  });

  it("creates one bot when the answer of the database is lost", async () => {
    await createVersion("v1");
    let lost = false;
    const DB = wrapD1(env.DB, async (call, run) => {
      const result = await run();
      if (call.kind !== "batch" || lost) return result;
      lost = true;
      throw new Error("D1_ERROR: Network connection lost.");
    });
    const { status, body } = await ask("", { body: { name: "b", versionId: "v1" }, env: { DB } });
    expect(status).toBe(200);
    expect(lost).toBe(true);
    expect((await ask("")).body.data.workerBots).toEqual([body.data]);
  });
});

describe("DELETE /v1/admin/worker-bots", () => {
  it("200 archives a bot, which is listed but moved no more", async () => {
    await insertVersions("v1", "v2");
    await insertBots(["v1", "v1"]);
    const { status, body } = await archive("", botId(0));
    expect(status).toBe(200);
    expect(body.data).toMatchObject({ id: botId(0), versionId: "v1", status: "Archived" });
    expect(await audited()).toEqual([{ action: "worker-bot.archive", target: botId(0) }]);
    expect((await migrate({ toVersionId: "v2" })).body.data).toMatchObject({ total: 1, moved: 1 });
    const listed = await ask("?status=Archived");
    expect(listed.body.data.workerBots).toMatchObject([{ id: botId(0), versionId: "v1" }]);
  });

  it("409 when it is already archived, 404 when there is none; nothing is written", async () => {
    await insertVersions("v1");
    await insertBots(["!v1"]);
    expect(await archive("", botId(0))).toMatchObject({ status: 409, body: { kind: "conflict" } });
    expect(await archive("", "nobody")).toMatchObject({ status: 404, body: { kind: "not_found" } });
    expect(await audited()).toEqual([]);
  });
});

describe("DELETE /v1/admin/worker-bots/versions", () => {
  it("200 archives a version that no bot runs, also when archived ones do", async () => {
    await insertVersions("v1", "v2");
    await insertBots(["v2", "!v1"]);
    const { body } = await archive(VERSIONS, "v1");
    expect(body.data).toMatchObject({ id: "v1", status: "Archived" });
    const { body: listed } = await ask("/versions?status=Active");
    expect(listed.data.versions).toMatchObject([{ id: "v2" }]);
  });

  it("409 while a bot runs it or when it is already archived, 404 when there is none", async () => {
    await insertVersions("v1", "v2");
    await insertBots(["v1"]);
    expect((await archive(VERSIONS, "v1")).status).toBe(409);
    expect((await archive(VERSIONS, "v9")).status).toBe(404);
    await archive(VERSIONS, "v2");
    const before = await audited();
    expect((await archive(VERSIONS, "v2")).status).toBe(409);
    expect(await audited()).toEqual(before);
  });
});

describe("the lists", () => {
  it("page through every bot newest first, each once, also while some are archived", async () => {
    await insertVersions("v1", "v2");
    await insertBots(Array.from({ length: 25 }, (_, n) => (n % 5 === 0 ? "v2" : "v1")));
    for (const [filter, expected] of [
      ["", 25],
      ["&versionId=v2", 5],
      ["&versionId=v1&status=Active", 20],
      ["&status=Archived", 0],
    ] as const) {
      const seen: string[] = [];
      let cursor: string | null = null;
      do {
        const from: string = cursor === null ? "" : `&cursorId=${cursor}`;
        const { body } = await ask(`?limit=4${filter}${from}`);
        expect(body.meta.pagination).toMatchObject({ cursor, limit: 4 });
        seen.push(...body.data.workerBots.map(({ id }: { id: string }) => id));
        cursor = body.meta.pagination.nextCursor;
      } while (cursor !== null);
      expect(seen).toHaveLength(expected);
      expect(seen).toEqual([...new Set(seen)].sort().reverse());
    }
  });

  it("show the moves of one bot", async () => {
    await insertVersions("v1", "v2", "v3");
    await insertBots(["v1", "v1"]);
    await migrate({ toVersionId: "v2", reason: "first" });
    await migrate({ toVersionId: "v3", reason: "second" });
    const { body } = await ask(`/moves?workerBotId=${botId(1)}&outcome=Moved`);
    expect(body.data.moves).toMatchObject([
      { workerBotId: botId(1), fromVersionId: "v2", toVersionId: "v3", reason: "second" },
      { workerBotId: botId(1), fromVersionId: "v1", toVersionId: "v2", reason: "first" },
    ]);
  });

  it("find failures among many moves by reading few rows", async () => {
    await insertVersions("v1", "v2");
    await insertBots(Array(3000).fill("v1"));
    await migrate({ toVersionId: "v2" });
    await env.DB.prepare("UPDATE worker_bot_move SET outcome = 'Failed' WHERE worker_bot_id = ?")
      .bind(botId(7))
      .run();
    for (const path of ["/moves?outcome=Failed", `/moves?workerBotId=${botId(9)}`, "?limit=1"]) {
      let rows = 0;
      const DB = wrapD1(env.DB, async (_, run) => {
        const result = await run();
        rows += (result as D1Result).meta?.rows_read ?? 0;
        return result;
      });
      expect((await ask(path, { env: { DB } })).status).toBe(200);
      expect(rows, path).toBeLessThan(20);
    }
  });
});
