import { env } from "cloudflare:workers";
import fc from "fast-check";
import { beforeEach, describe, expect, it } from "vitest";
import { openDb } from "../../src/db/client.ts";
import { type EntryState, statusOf } from "../../src/registry/entries/entry.ts";
import { checkAgentHealth } from "../../src/registry/health/check-agents.ts";
import { continueRemoval } from "../../src/registry/sync/continue-removal.ts";
import { app, call, emptyTables } from "../support/app.ts";
import { countingD1, wrapD1 } from "../support/d1.ts";
import { runs } from "../support/effort.ts";
import { insertKey } from "../support/keys.ts";
import { EntryWriter, registered } from "../support/registry/entries.ts";
import { diff, type ShownEntry } from "../support/registry/registry-sync.ts";

let writer: EntryWriter;

beforeEach(async () => {
  await emptyTables();
  writer = await EntryWriter.create();
});

/** Agents with names, one batch each, so that their stamps differ. */
async function register(...names: string[]): Promise<void> {
  await writer.write(Object.fromEntries(names.map((name) => [name, registered(name)])));
}

const names = (entries: ShownEntry[]) => entries.map(({ name }) => name);

/** Gives entries one stamp, which the clock never does: the rules must hold for ties all the same. */
async function tie(...tied: string[]): Promise<string> {
  const entries = (await diff()).filter(({ name }) => tied.includes(name));
  const stamp = Math.max(...entries.map((one) => Date.parse(one.statusUpdatedAt)));
  await env.DB.prepare(
    `UPDATE registry_entry SET status_updated_at = ?
     WHERE id IN (SELECT value FROM json_each(?))`,
  )
    .bind(stamp, JSON.stringify(entries.map(({ id }) => id)))
    .run();
  return new Date(stamp).toISOString();
}

describe("POST /registry-diff/", () => {
  it("rule 1: sending the last item's stamp and id pages through every item", async () => {
    await register(..."abcdefg");
    const seen: string[] = [];
    let page = await diff({ limit: 3 });
    for (;;) {
      seen.push(...names(page));
      const last = page.at(-1);
      if (!last) break;
      const next = await diff({
        limit: 3,
        statusUpdatedAfter: last.statusUpdatedAt,
        cursorId: last.id,
      });
      if (next.length === 1) break;
      page = next.slice(1);
    }
    expect(seen).toEqual([..."abcdefg"]);
  });

  it("rule 2: the cursor item comes again with all after it, unless it changed", async () => {
    await register("a", "b", "c");
    const [, b] = await diff();
    const from = { statusUpdatedAfter: b?.statusUpdatedAt, cursorId: b?.id };
    expect(names(await diff(from))).toEqual(["b", "c"]);
    await writer.write({ b: { ...registered("b"), supply: "0" } });
    const after = await diff(from);
    expect(names(after)).toEqual(["c", "b"]);
    expect(after[1]).toMatchObject({ id: b?.id, status: "Deregistered" });
  });

  it("rule 3: a cursor that is not valid takes the items with a greater id at that stamp", async () => {
    await register("a", "b", "c");
    const stamp = await tie("a", "b");
    const [first, second] = await diff();
    const below = { statusUpdatedAfter: stamp, cursorId: "0" };
    expect(names(await diff(below)).sort()).toEqual(["a", "b", "c"]);
    const between = { statusUpdatedAfter: stamp, cursorId: `${first?.id}0` };
    expect(names(await diff(between))).toEqual([second?.name, "c"]);
    const above = { statusUpdatedAfter: stamp, cursorId: "zzzz" };
    expect(names(await diff(above))).toEqual(["c"]);
  });

  it("rule 4: without a cursor the items at exactly that stamp are all in it", async () => {
    await register("a", "b", "c");
    const stamp = await tie("a", "b");
    expect(names(await diff({ statusUpdatedAfter: stamp })).sort()).toEqual(["a", "b", "c"]);
  });

  it("rule 5: a cursor item from before that stamp does not count", async () => {
    await register("a", "b", "c");
    const stamp = await tie("b", "c");
    const [a, ...tied] = await diff();
    // An id above those at the stamp, which as text would leave them out.
    await env.DB.prepare("UPDATE registry_entry SET id = 'zzzz' WHERE id = ?").bind(a?.id).run();
    const page = await diff({ statusUpdatedAfter: stamp, cursorId: "zzzz" });
    expect(names(page)).toEqual(names(tied));
  });

  it("moves on with a limit of 1", async () => {
    await register("a", "b");
    const [a] = await diff({ limit: 1 });
    const page = await diff({
      limit: 1,
      statusUpdatedAfter: a?.statusUpdatedAt,
      cursorId: a?.id,
    });
    expect(names(page)).toEqual(["a", "b"]);
  });

  it("shows nothing of another network", async () => {
    await register("a");
    expect(await diff({ network: "Mainnet" })).toEqual([]);
  });

  it("reads no more rows than it returns, twice, and two", async () => {
    await register(...Array.from({ length: 60 }, (_, i) => `agent-${i}`));
    const { d1, rowsRead } = countingD1(env.DB);
    const [first] = await diff({ limit: 1 });
    const answer = await app.request(
      "/api/v1/registry-diff/",
      {
        method: "POST",
        headers: { token: env.ADMIN_KEY ?? "" },
        body: JSON.stringify({
          network: "Preprod",
          statusUpdatedAfter: first?.statusUpdatedAt,
          cursorId: first?.id,
          limit: 10,
        }),
      },
      { ...env, DB: d1 },
    );
    expect(answer.status).toBe(200);
    expect(rowsRead()).toBeLessThanOrEqual(22);
  });

  it("charges a key with a limit, and refuses it with 402 once nothing is left", async () => {
    await register("a");
    const token = await insertKey({ usageLimited: true, maxUsageCredits: 2 });
    const asked = () =>
      call("/api/v1/registry-diff/", {
        method: "POST",
        headers: { token },
        body: JSON.stringify({ network: "Preprod", statusUpdatedAfter: "1970-01-01" }),
      });
    expect((await asked()).status).toBe(200);
    expect((await asked()).status).toBe(200);
    expect((await asked()).status).toBe(402);
  });
});

it("the diff shows an entry of an older version as it was when its page was read", async () => {
  await register("before");
  await env.DB.prepare("UPDATE registry_entry SET doc_version = 0").run();
  const [shown] = await diff();
  let reads = 0;
  const d1 = wrapD1(env.DB, async ({ sql }, run) => {
    const result = await run();
    if (sql.some((one) => one.includes("FROM registry_entry")) && ++reads === 1)
      await writer.write({ before: registered("after") });
    return result;
  });
  const answer = await app.request(
    "/api/v1/registry-diff/",
    {
      method: "POST",
      headers: { token: env.ADMIN_KEY ?? "" },
      body: JSON.stringify({ network: "Preprod", statusUpdatedAfter: "1970-01-01" }),
    },
    { ...env, DB: d1 },
  );
  const { data } = (await answer.json()) as { data: { entries: ShownEntry[] } };
  expect(data.entries).toEqual([shown]);
  expect(names(await diff())).toEqual(["after"]);
});

describe("POST /registry-diff/, paged by the rules", () => {
  it("returns every change at least once, whatever happens between the pages", async () => {
    const step = fc.oneof(
      fc.record({ do: fc.constant("register" as const), count: fc.integer({ min: 1, max: 4 }) }),
      fc.record({ do: fc.constant("burn" as const), picks: fc.array(fc.nat(), { maxLength: 3 }) }),
      fc.record({
        do: fc.constant("rename" as const),
        picks: fc.array(fc.nat(), { maxLength: 3 }),
      }),
      fc.record({ do: fc.constant("health" as const) }),
      fc.record({ do: fc.constant("tie" as const), count: fc.integer({ min: 2, max: 5 }) }),
      fc.record({ do: fc.constant("removeSource" as const) }),
      fc.record({ do: fc.constant("syncAndPoll" as const) }),
      fc.record({ do: fc.constant("poll" as const) }),
      fc.record({ do: fc.constant("poll" as const) }),
    );
    const property = fc.asyncProperty(
      fc.array(step, { minLength: 4, maxLength: 14 }),
      fc.oneof(fc.constant(1), fc.constant(2), fc.integer({ min: 1, max: 50 })),
      async (steps, limit) => {
        await emptyTables();
        let live = await EntryWriter.create();
        let agents: string[] = [];
        const seen = new Map<string, string>();
        let at: { statusUpdatedAfter: string; cursorId: string } | null = null;

        const add = async (count: number): Promise<string[]> => {
          const added = Array.from({ length: count }, () => live.freshName());
          await live.write(Object.fromEntries(added.map((name) => [name, registered(name)])));
          agents.push(...added);
          return added;
        };
        const change = async (picks: number[], state: (name: string) => EntryState) => {
          const picked = new Set(picks.flatMap((pick) => agents[pick % agents.length] ?? []));
          if (picked.size > 0)
            await live.write(Object.fromEntries([...picked].map((name) => [name, state(name)])));
        };
        const poll = async (): Promise<boolean> => {
          const items = await diff({ limit, ...at });
          for (const item of items) seen.set(item.id, `${item.status} ${item.name}`);
          const last = items.at(-1);
          // The cursor item may have changed, and stand at the end with more to come.
          const moved =
            last !== undefined &&
            (last.id !== at?.cursorId || last.statusUpdatedAt !== at.statusUpdatedAfter);
          if (last) at = { statusUpdatedAfter: last.statusUpdatedAt, cursorId: last.id };
          return moved;
        };

        for (const one of steps) {
          if (one.do === "register") await add(one.count);
          else if (one.do === "burn")
            await change(one.picks, (name) => ({ ...registered(name), supply: "0" }));
          else if (one.do === "rename") await change(one.picks, () => registered(live.freshName()));
          else if (one.do === "health") await strikeOut(live.sourceId);
          else if (one.do === "tie") {
            const added = await add(one.count);
            await tie(...added);
          } else if (one.do === "removeSource") {
            await remove(live.sourceId);
            live = await EntryWriter.create(live.freshName().padEnd(56, "0"));
            agents = [];
          } else if (one.do === "syncAndPoll") await Promise.all([add(2), poll()]);
          else await poll();
        }
        for (let more = true; more; ) more = await poll();

        const stored = await env.DB.prepare(
          "SELECT id, status, doc->>'name' AS name FROM registry_entry",
        ).all<{ id: string; status: string; name: string }>();
        expect(Object.fromEntries(seen)).toEqual(
          Object.fromEntries(
            stored.results.map(({ id, status, name }) => [id, `${status} ${name}`]),
          ),
        );
      },
    );
    await fc.assert(property, runs(5, 100));
  });
});

/** Three checks of every agent that none of them passes: their addresses may not be asked. */
async function strikeOut(sourceId: string): Promise<void> {
  for (let i = 0; i < 3; i++) {
    await env.DB.prepare(
      "UPDATE registry_health SET due_at = 0 WHERE due_at IS NOT NULL AND source_id = ?",
    )
      .bind(sourceId)
      .run();
    await checkAgentHealth(
      {
        db: openDb(env),
        network: "Preprod",
        sourceId,
        fetchOptions: { resolve: async () => ["10.0.0.1"] },
        intervalMs: 1000,
        now: Date.now,
      },
      Date.now() + 5000,
    );
  }
}

async function remove(sourceId: string): Promise<void> {
  const removed = {
    id: sourceId,
    network: "Preprod" as const,
    removedAt: Date.now(),
    isDeregistered: false,
  };
  while (await continueRemoval(openDb(env), removed, Date.now()));
}

it("a status follows from the token first, and from checks only while there is one to check", () => {
  const state = registered("a");
  expect(statusOf(state, "Online")).toBe("Online");
  expect(statusOf({ ...state, supply: "0" }, "Online")).toBe("Deregistered");
  expect(statusOf({ supply: "1", profile: null, reason: "name: is missing" }, "Online")).toBe(
    "Invalid",
  );
});
