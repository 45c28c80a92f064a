import { createScheduledController } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import worker from "../src/worker.ts";
import { emptyTables } from "./support/app.ts";
import { TestChain } from "./support/chain.ts";
import { wrapD1 } from "./support/d1.ts";
import { objectsLike } from "./support/objects.ts";
import { createSource, leftBehind, settle } from "./support/sources/sync.ts";

const version = "Web3ChainV2";
const SLOT = { cron: "* * * * *", scheduledTime: Date.UTC(2026, 7, 1, 12, 0) };

/** Every kind of write that a sync makes. */
const STEPS = [
  { do: "lock", as: "a", version },
  { do: "lock", as: "b", version, datum: { sellerCooldownTime: "5" } },
  { do: "submitResult", on: "a" },
  { do: "requestRefund", on: "a" },
  { do: "lock", as: "c", version },
  { do: "submitResult", on: "c" },
  { do: "withdrawDisputed", on: "a" },
];

const { BLOCKFROST_URL_PREPROD } = env;
let chain: TestChain;
let source: string;

beforeEach(async () => {
  await emptyTables();
  chain = await TestChain.create();
  // The objects that the cron wakes get their variables from here as well.
  Object.assign(env, { BLOCKFROST_URL_PREPROD: chain.url });
  source = await createSource(chain, version);
});
afterEach(() => {
  Object.assign(env, { BLOCKFROST_URL_PREPROD });
});

/** Fires the slot. The alarms that it sets are the platform's to fire. */
function fire(): Promise<void> {
  return worker.scheduled(createScheduledController(SLOT), env);
}

interface CursorRow {
  position: string | null;
  complete: number;
  last_checked_at: number | null;
  lease_until: number | null;
  tip_hash: string | null;
}

async function cursor(): Promise<CursorRow> {
  const row = await env.DB.prepare("SELECT * FROM source_cursor").first<CursorRow>();
  if (!row) throw new Error("the source has no cursor");
  return row;
}

/** Waits until a pass that began after `since` has read everything up to a transaction. */
async function read(txHash: string | undefined, since: number): Promise<void> {
  await vi.waitUntil(
    async () => {
      const { position, complete, last_checked_at } = await cursor();
      const isThere = position?.includes(txHash ?? "nothing") && complete === 1;
      return isThere && (last_checked_at ?? 0) > since;
    },
    { timeout: 120_000, interval: 20 },
  );
}

/** Waits until no pass is under way and one has seen the chain's last block. */
async function rest(): Promise<void> {
  const { hash } = await chain.get<{ hash: string }>("/blocks/latest");
  await vi.waitUntil(
    async () => {
      const { lease_until, tip_hash } = await cursor();
      return lease_until === null && tip_hash === hash;
    },
    { timeout: 120_000, interval: 20 },
  );
}

/** Every row that a sync writes, ids and stamps included. */
async function rows(): Promise<unknown> {
  const tables = [
    "escrow",
    "escrow_identity",
    "escrow_transaction",
    "escrow_open",
    "escrow_undo",
    "escrow_action",
    "event",
    "clock",
  ];
  const read = await env.DB.batch(tables.map((name) => env.DB.prepare(`SELECT * FROM ${name}`)));
  const { position, complete } = await cursor();
  return { tables: read.map(({ results }) => results), position, complete };
}

describe("a slot of the cron", () => {
  it("that is handled twice changes nothing", async () => {
    const last = (await chain.act(STEPS)).at(-1);
    await fire();
    await read(last?.txHash, 0);
    const before = await rows();

    const since = Date.now();
    await fire();
    await read(last?.txHash, since);
    expect(await rows()).toEqual(before);
  });

  it("that cannot read the payment sources still does the other jobs", async () => {
    const asked: string[] = [];
    const DB = wrapD1(env.DB, async ({ sql }, run) => {
      asked.push(...sql);
      if (sql.some((text) => /^select "id" from "payment_source"/.test(text)))
        throw new Error("D1_ERROR: D1 DB is overloaded. Too many requests queued.");
      return run();
    });
    await worker.scheduled(createScheduledController(SLOT), { ...env, DB });
    const jobs = ["registry_source", "webhook_delivery", "x402_payment_attempt"];
    expect(jobs.filter((table) => !asked.some((sql) => sql.includes(table)))).toEqual([]);
  });

  /** A slot in which the objects of the payment sources never answer. */
  function fireHanging() {
    const asked: string[] = [];
    const DB = wrapD1(env.DB, async ({ sql }, run) => {
      asked.push(...sql);
      return run();
    });
    let release = () => {};
    const answer = new Promise<void>((resolve) => {
      release = resolve;
    });
    const SOURCE_CURSOR = objectsLike("SOURCE_CURSOR", () => ({ tick: () => answer }));
    const done = worker.scheduled(createScheduledController(SLOT), { ...env, DB, SOURCE_CURSOR });
    const others = ["registry_cursor", "webhook_delivery", "x402_payment_attempt", "inbox_reg"];
    const missing = () => others.filter((table) => !asked.some((sql) => sql.includes(table)));
    return { done, release, missing };
  }

  it("runs the other jobs while an object hangs", async () => {
    const { done, release, missing } = fireHanging();
    await vi.waitUntil(() => missing().length === 0, { timeout: 60_000 });
    release();
    await done;
  });

  it("ends although an object hangs", async () => {
    const { setTimeout } = globalThis;
    // The time that a job has is over at once; all other timers are as they are.
    vi.stubGlobal("setTimeout", (callback: () => void, ms = 0) =>
      setTimeout(callback, ms >= 120_000 ? 0 : ms),
    );
    const error = vi.spyOn(console, "error").mockImplementation(() => {});
    const { done, release } = fireHanging();
    await done;
    vi.unstubAllGlobals();
    expect(error.mock.calls.join("\n")).toContain('"job":"sources.wake"');
    error.mockRestore();
    release();
  });

  it("that overlaps itself leaves what one at a time leaves, while the chain moves", async () => {
    let last: string | undefined;
    for (const step of STEPS) {
      const [results] = await Promise.all([chain.act([step]), fire(), fire(), fire()]);
      last = results.at(-1)?.txHash;
    }
    await Promise.all([fire(), fire()]);
    await read(last, 0);
    await rest();
    const overlapped = await leftBehind(source);

    await emptyTables();
    source = await createSource(chain, version);
    await settle(chain, source);
    expect(overlapped).toEqual(await leftBehind(source));
  });
});
