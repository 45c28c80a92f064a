import { env } from "cloudflare:workers";
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { runSchedule } from "../../../src/schedule.ts";
import { checkLowBalances } from "../../../src/wallets/rules/low-balance.ts";
import { checkTopUps } from "../../../src/wallets/top-ups/check.ts";
import { emptyTables } from "../../support/app.ts";
import { shortenProviderTimeouts } from "../../support/crash-at.ts";
import { countingD1 } from "../../support/d1.ts";
import { insertRows } from "../../support/insert-rows.ts";
import { cursors, SourceApi } from "../../support/sources/api.ts";

const MINUTE_MS = 60_000;
/** Longer than any machine takes. */
const PATIENCE_MS = 10 * MINUTE_MS;
const UNITS = ["", "ab".repeat(30)];
const ROWS_PER_BATCH = 500;

let api: SourceApi;
let sourceIds: string[];
let now: number;
/** Addresses that the provider was asked for. */
let asked: string[];
let openRequests = 0;
let mostOpenRequests = 0;

beforeAll(async () => {
  api = await SourceApi.open();
});
beforeEach(async () => {
  await emptyTables();
  const sources = [await api.create(), await api.create(api.elsewhere())];
  sourceIds = sources.map(({ data }) => data.id);
  now = Date.now();
  asked = [];
  mostOpenRequests = 0;
});
afterEach(() => {
  vi.unstubAllGlobals();
});

/** Stores many rows at once. */
async function insertMany(table: string, rows: Parameters<typeof insertRows>[1]): Promise<void> {
  for (let i = 0; i < rows.length; i += ROWS_PER_BATCH)
    await insertRows(table, rows.slice(i, i + ROWS_PER_BATCH));
}

/** Stores so many wallets, half of them of each source, and rules of both kinds for two units of each. */
async function insertRules(wallets: number): Promise<void> {
  const ids = Array.from({ length: wallets }, (_, i) => `wallet-${i}`);
  const walletRows = ids.map((id, i) => ({
    ...{ id, vkey: id, address: id, network: "Preprod", role: "Selling" },
    ...{ source_id: sourceIds[i % 2] ?? "", mnemonic: "sealed", drives: "all" },
  }));
  await insertMany("managed_wallet", walletRows);
  const rules = ids.flatMap((walletId) =>
    UNITS.map((unit) => ({
      ...{ id: `${walletId}-${unit}`, wallet_id: walletId, unit, enabled: 1 },
      ...{ threshold: "0", status: "Unknown", below: "0", up_to: "5000000" },
    })),
  );
  await insertMany("low_balance_rule", rules);
  await insertMany("top_up_rule", rules);
}

/** Has the provider answer at once, with nothing; it hangs for some addresses. */
function stubProvider(hangsFor: (address: string) => boolean = () => false): void {
  vi.stubGlobal("fetch", async (input: RequestInfo | URL, init?: RequestInit) => {
    const address = String(input).split("/addresses/")[1] ?? "";
    asked.push(address);
    mostOpenRequests = Math.max(mostOpenRequests, ++openRequests);
    try {
      if (hangsFor(address))
        await new Promise((_, reject) => {
          init?.signal?.addEventListener("abort", () => reject(init.signal?.reason));
        });
      return Response.json({ amount: [] });
    } finally {
      openRequests--;
    }
  });
}

/** One run of the cron's two jobs, a minute after the last. */
async function tick(overrides: object = {}): Promise<void> {
  now += MINUTE_MS;
  const bindings = { ...env, ...api.provider(), ...overrides };
  await checkLowBalances(bindings, "request", now, Date.now() + PATIENCE_MS);
  await checkTopUps(bindings, "request", now, Date.now() + PATIENCE_MS);
}

/** How many rules of each kind were not checked yet, by the position of their source. */
async function countUnchecked(source?: number): Promise<number[]> {
  const counts = ["low_balance_rule", "top_up_rule"].map((table) =>
    env.DB.prepare(
      `SELECT count(*) FROM ${table} JOIN managed_wallet AS wallet ON wallet.id = wallet_id
       WHERE checked_at IS NULL AND (?1 IS NULL OR source_id = ?1)`,
    )
      .bind(source === undefined ? null : (sourceIds[source] ?? null))
      .first<number>("count(*)"),
  );
  return (await Promise.all(counts)).map((count) => count ?? -1);
}

describe("5,000 rules of each kind", () => {
  it("are checked within five runs, with one question for each wallet and kind", async () => {
    await insertRules(2500);
    stubProvider();
    for (let i = 0; i < 5; i++) await tick();
    expect(await countUnchecked()).toEqual([0, 0]);
    expect(new Set(asked).size).toBe(2500);
    // Rules of one wallet may fall into two runs, which ask twice.
    expect(asked.length).toBeLessThanOrEqual(2 * 2500 * UNITS.length);
    expect(mostOpenRequests).toBeLessThanOrEqual(4);

    const { d1, rowsRead } = countingD1(env.DB);
    await checkLowBalances({ ...env, DB: d1 }, "request", now, Date.now() + PATIENCE_MS);
    await checkTopUps({ ...env, DB: d1 }, "request", now - 4 * MINUTE_MS, Date.now() + PATIENCE_MS);
    expect(rowsRead()).toBeLessThanOrEqual(4);
  });
});

describe("rules of a source whose provider hangs", () => {
  it("hold up no rule of another source, and cost one connection at a time", async () => {
    await insertRules(1000);
    // A busy machine still gets the other source's answers in this time.
    shortenProviderTimeouts(1_500);
    // Sources take turns in the list of wallets.
    const isOfFirst = (address: string) => Number(address.split("-")[1]) % 2 === 0;
    stubProvider(isOfFirst);
    for (let i = 0; i < 2; i++) await tick();
    expect(await countUnchecked(0)).toEqual([1000, 1000]);
    expect(await countUnchecked(1)).toEqual([0, 0]);
    expect(new Set(asked.filter(isOfFirst)).size).toBeLessThanOrEqual(4);
    expect(mostOpenRequests).toBeLessThanOrEqual(4);
    expect(openRequests).toBe(0);

    vi.unstubAllGlobals();
    stubProvider();
    for (let i = 0; i < 2; i++) await tick();
    expect(await countUnchecked()).toEqual([0, 0]);
  });
});

describe("a run of the cron with nothing to do", () => {
  it("reads few rows, however many wallets and rules there are", async () => {
    await insertRules(1000);
    const wallets = Array.from({ length: 1000 }, (_, i) => ({
      ...{ network: "Preprod", vkey: `wallet-${i}` },
    }));
    await insertMany("hot_wallet", wallets);
    for (const table of ["low_balance_rule", "top_up_rule"])
      await env.DB.prepare(`UPDATE ${table} SET due_at = ?`)
        .bind(now + 60 * MINUTE_MS)
        .run();
    const bindings = { ...env, ...api.provider(), ...cursors(async () => {}) };
    await runSchedule(bindings);
    const { d1, rowsRead } = countingD1(env.DB);
    await runSchedule({ ...bindings, DB: d1 });
    expect(rowsRead()).toBeLessThanOrEqual(100);
  });
});
