import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { openDb } from "../../../src/db/client.ts";
import { checkAgentHealth } from "../../../src/registry/health/check-agents.ts";
import { emptyTables } from "../../support/app.ts";
import { countingD1, wrapD1 } from "../../support/d1.ts";
import { EntryWriter, registered } from "../../support/registry/entries.ts";
import { ask, diff, runJob, type ShownEntry } from "../../support/registry/registry-sync.ts";

let writer: EntryWriter;
/** Agents of this test only: the servers are shared. */
let prefix: string;

beforeEach(async () => {
  await emptyTables();
  writer = await EntryWriter.create();
  prefix = `${writer.freshName()}-`;
});

afterEach(() => {
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
});

const urlOf = (name: string) => `${env.AGENTS_URL}/${prefix}${name}`;
const stateOf = (name: string, url = urlOf(name)) =>
  registered(name, { api_base_url: chunks(url) });
const chunks = (text: string) => text.match(/.{1,60}/g) ?? [];

async function behave(name: string, behaviour: string, argument?: string): Promise<void> {
  const answer = await fetch(`${env.AGENTS_URL}/_control`, {
    method: "POST",
    body: JSON.stringify({ agent: `${prefix}${name}`, behaviour, argument }),
  });
  if (!answer.ok) throw new Error(await answer.text());
}

async function asked(name: string): Promise<number> {
  const counts = (await (await fetch(`${env.AGENTS_URL}/_control`)).json()) as object;
  return (counts as Record<string, number>)[`${prefix}${name}`] ?? 0;
}

/** One run of the checks, with every agent due or only those that are. */
async function check(options: { due?: "all"; env?: object } = { due: "all" }): Promise<void> {
  if (options.due === "all")
    await env.DB.prepare("UPDATE registry_health SET due_at = 0 WHERE due_at IS NOT NULL").run();
  const job = { kind: "health", network: "Preprod", sourceId: writer.sourceId } as const;
  await runJob(job, "", {
    env: { LOOPBACK_ORIGINS: env.AGENTS_URL, ...options.env },
  });
}

async function entry(name: string): Promise<ShownEntry> {
  const found = (await diff()).find((one) => one.name === name);
  if (!found) throw new Error(`no entry ${name}`);
  return found;
}

/** Milliseconds until an agent's next check; null when there is none. */
async function untilNext(name: string): Promise<number | null> {
  const [row] = await openDb(env).all<{ due_at: number | null; last_check_at: number }>(
    `SELECT due_at, last_check_at FROM registry_health JOIN registry_entry ON id = entry_id
     WHERE agent_identifier = ?`,
    writer.identifier(name),
  );
  return row?.due_at == null ? null : row.due_at - row.last_check_at;
}

it("a failed health check loses no result of the other checks", async () => {
  await writer.write({ a: stateOf("a"), b: stateOf("b") });
  await writer.write({ c: stateOf("c", "https://c.agents.example.com") });
  const error = vi.spyOn(console, "error").mockImplementation(() => {});
  const now = Date.now();
  const more = await checkAgentHealth(
    {
      db: openDb(env, "Preprod"),
      network: "Preprod",
      sourceId: writer.sourceId,
      fetchOptions: {
        loopbackOrigins: [new URL(env.AGENTS_URL).origin],
        resolve: () => {
          throw new TypeError("the resolver is broken");
        },
      },
      intervalMs: 1_800_000,
      now: () => now,
    },
    now + 60_000,
  );
  error.mockRestore();
  expect(more).toBe(false);
  for (const name of ["a", "b"])
    expect(await entry(name)).toMatchObject({ status: "Online", uptimeCheckCount: 1 });
  expect(await entry("c")).toMatchObject({ status: "Offline", uptimeCheckCount: 0 });
  const [row] = await openDb(env).all<{ due_at: number; failures: number }>(
    `SELECT due_at, failures FROM registry_health JOIN registry_entry ON id = entry_id
     WHERE agent_identifier = ?`,
    writer.identifier("c"),
  );
  expect(row).toEqual({ due_at: now + 60_000, failures: 0 });
});

describe("an agent that", () => {
  it("is available becomes Online at its first check, with a new stamp, and is counted", async () => {
    await writer.write({ a: stateOf("a") });
    const before = await entry("a");
    expect(before).toMatchObject({ status: "Offline", lastUptimeCheck: null });
    await check({});
    const after = await entry("a");
    expect(after).toMatchObject({ status: "Online", uptimeCheckCount: 1, uptimeCount: 1 });
    expect(after.statusUpdatedAt > before.statusUpdatedAt).toBe(true);
    expect(after.lastUptimeCheck).not.toBeNull();
  });

  it("names itself is Online", async () => {
    await writer.write({ a: stateOf("a") });
    await behave("a", "named", writer.identifier("a"));
    await check();
    expect(await entry("a")).toMatchObject({ status: "Online" });
  });

  it.each([
    ["is down", "down", "Offline", /^the agent answered HTTP 503$/],
    ["says it is unavailable", "unavailable", "Offline", /^the agent answered that it is/],
    ["answers no JSON", "html", "Offline", /^the answer is no JSON object$/],
    ["redirects", "redirect", "Offline", /^the agent answered HTTP 302$/],
    ["answers without an end", "huge", "Offline", /^the answer is larger than 65536 bytes$/],
    ["is something else", "other", "Invalid", /^the answer must have the type masumi-agent$/],
    ["names another agent", "named", "Invalid", /^the answer has another agentIdentifier$/],
  ])("%s loses Online with the third check in a row, not before, and shows why", async (...row) => {
    const [, behaviour, status, why] = row;
    await writer.write({ a: stateOf("a") });
    await check();
    const online = await entry("a");
    await behave("a", behaviour, "another");
    await check();
    await check();
    const struck = await entry("a");
    expect(struck).toMatchObject({
      status: "Online",
      statusUpdatedAt: online.statusUpdatedAt,
      uptimeCheckCount: 3,
      uptimeCount: 1,
      lastUptimeCheckError: expect.stringMatching(why),
    });
    await check();
    const lost = await entry("a");
    expect(lost).toMatchObject({ status });
    expect(lost.statusUpdatedAt > online.statusUpdatedAt).toBe(true);
    await behave("a", "available");
    await check();
    expect(await entry("a")).toMatchObject({
      status: "Online",
      uptimeCheckCount: 5,
      lastUptimeCheckError: null,
    });
  });

  it("answers between two failures keeps Online", async () => {
    await writer.write({ a: stateOf("a") });
    await check();
    for (const behaviour of ["down", "down", "available", "down", "down"]) {
      await behave("a", behaviour);
      await check();
    }
    expect(await entry("a")).toMatchObject({ status: "Online", uptimeCheckCount: 6 });
  });

  it.each([
    ["a private address", "http://10.0.0.1"],
    ["a loopback address that is not listed", "http://127.0.0.1:1"],
    ["a file", "file:///etc/passwd"],
    ["an address with a query", `${env.AGENTS_URL}/available?path=`],
    ["an address with a fragment", `${env.AGENTS_URL}/available#`],
  ])("names %s is Invalid, and no request is made", async (_, url) => {
    await writer.write({ a: stateOf("a", url) });
    for (let i = 0; i < 3; i++) await check();
    expect(await entry("a")).toMatchObject({
      status: "Invalid",
      statusReason: null,
      lastUptimeCheckError: expect.stringMatching(/^apiBaseUrl: must /),
    });
  });

  it("is burned, or cannot be read, is not checked", async () => {
    await writer.write({
      burned: { ...stateOf("burned"), supply: "0" },
      unread: { supply: "1", profile: null, reason: "name: is missing" },
    });
    await check();
    expect(await asked("burned")).toBe(0);
    expect((await diff()).map(({ uptimeCheckCount }) => uptimeCheckCount)).toEqual([0, 0]);
    expect([await untilNext("burned"), await untilNext("unread")]).toEqual([null, null]);
  });
});

describe("the next check of an agent", () => {
  const INTERVAL_MS = 1800_000;

  it("that is well comes within half an hour, a little spread", async () => {
    await writer.write({ a: stateOf("a") });
    await check();
    expect(await untilNext("a")).toBeGreaterThanOrEqual(INTERVAL_MS * 0.9);
    expect(await untilNext("a")).toBeLessThanOrEqual(INTERVAL_MS);
  });

  it("that failed once comes within a minute", async () => {
    await writer.write({ a: stateOf("a") });
    await behave("a", "down");
    await check();
    expect(await untilNext("a")).toBeLessThanOrEqual(60_000);
  });

  it("that stays Invalid comes later and later, but always comes", async () => {
    await writer.write({ a: stateOf("a") });
    await behave("a", "other");
    const pauses: number[] = [];
    for (let i = 0; i < 12; i++) {
      await check();
      pauses.push((await untilNext("a")) ?? Number.POSITIVE_INFINITY);
    }
    expect(pauses[4]).toBeGreaterThan((pauses[2] ?? 0) * 3);
    expect(Math.max(...pauses)).toBeLessThanOrEqual(32 * INTERVAL_MS);
    await behave("a", "available");
    await check();
    expect(await entry("a")).toMatchObject({ status: "Online" });
    expect(await untilNext("a")).toBeLessThanOrEqual(INTERVAL_MS);
  });
});

describe("a run of checks", () => {
  it("checks only those that are due", async () => {
    await writer.write({ a: stateOf("a") });
    await check({});
    await check({});
    expect(await asked("a")).toBe(1);
  });

  it("asks agents that share an address once", async () => {
    await writer.write({ a: stateOf("a"), b: stateOf("b", urlOf("a")) });
    await check();
    expect(await asked("a")).toBe(1);
    expect((await diff()).map(({ status }) => status)).toEqual(["Online", "Online"]);
  });

  it("asks no more than four agents at the same time", async () => {
    const all = Array.from({ length: 30 }, (_, i) => `agent-${i}`);
    await writer.write(Object.fromEntries(all.map((name) => [name, stateOf(name)])));
    let [underWay, most] = [0, 0];
    const { fetch } = globalThis;
    vi.stubGlobal("fetch", async (...args: Parameters<typeof fetch>) => {
      most = Math.max(most, ++underWay);
      return fetch(...args).finally(() => underWay--);
    });
    await check();
    vi.unstubAllGlobals();
    expect(most).toBe(4);
    expect((await diff()).every(({ status }) => status === "Online")).toBe(true);
  });

  it("never undoes a burn that is written while it is under way, and keeps what it learned of others", async () => {
    await writer.write({ a: stateOf("a"), b: stateOf("b") });
    let burned = false;
    const d1 = wrapD1(env.DB, async (call, run) => {
      if (call.kind === "batch" && !burned) {
        burned = true;
        await writer.write({ a: { ...stateOf("a"), supply: "0" } });
      }
      return run();
    });
    await check({ due: "all", env: { DB: d1 } });
    expect(burned).toBe(true);
    expect(await entry("a")).toMatchObject({ status: "Deregistered", uptimeCheckCount: 1 });
    expect(await untilNext("a")).toBeNull();
    expect(await entry("b")).toMatchObject({ status: "Online" });
  });

  it("leaves an agent that moves while it is asked due at its new address", async () => {
    await writer.write({ a: stateOf("a") });
    let moved = false;
    const d1 = wrapD1(env.DB, async (call, run) => {
      if (call.kind === "batch" && !moved) {
        moved = true;
        await writer.write({ a: stateOf("a", urlOf("elsewhere")) });
      }
      return run();
    });
    await check({ due: "all", env: { DB: d1 } });
    expect(await untilNext("a")).toBeLessThan(60_000);
    expect(await entry("a")).toMatchObject({ status: "Offline" });
  });

  it("ends in time when agents hang, and writes what it learned until then", async () => {
    const hanging = Array.from({ length: 30 }, (_, i) => `hanging-${i}`);
    await writer.write(Object.fromEntries(hanging.map((name) => [name, stateOf(name)])));
    const { now } = Date;
    let calls = 0;
    vi.spyOn(Date, "now").mockImplementation(() => now() + Math.floor(calls / 6) * 15_000);
    // Six at once take all the time that they are given.
    vi.stubGlobal("fetch", async () => {
      calls++;
      throw new Error("no answer");
    });
    await check();
    expect((await diff()).filter(({ uptimeCheckCount }) => uptimeCheckCount === 1)).toHaveLength(
      12,
    );
  });

  it("reads the schedule of each agent once", async () => {
    const all = Array.from({ length: 200 }, (_, i) => `agent-${i}`);
    for (let i = 0; i < all.length; i += 50)
      await writer.write(
        Object.fromEntries(all.slice(i, i + 50).map((name) => [name, stateOf(name, urlOf("a"))])),
      );
    await env.DB.prepare("UPDATE registry_health SET due_at = due_at + 1e12").run();
    await env.DB.prepare(
      `UPDATE registry_health SET due_at = 0
       WHERE entry_id IN (SELECT id FROM registry_entry ORDER BY id LIMIT 50)`,
    ).run();
    const { d1, rowsRead } = countingD1(env.DB);
    await check({ env: { DB: d1 } });
    expect(await ask("/registry-entry", { limit: 50 })).toHaveLength(50);
    expect(rowsRead()).toBeLessThanOrEqual(200 + 10 * 50);
  });

  it("writes one row for an agent that answers as before", async () => {
    await writer.write({ a: stateOf("a") });
    await check();
    let written = 0;
    const d1 = wrapD1(env.DB, async (_, run) => {
      const result = await run();
      for (const one of Array.isArray(result) ? result : [result])
        written += (one as D1Result).meta?.rows_written ?? 0;
      return result;
    });
    await env.DB.prepare("UPDATE registry_health SET due_at = 0").run();
    await check({ env: { DB: d1 } });
    expect(written).toBe(1);
  });
});
