import { env } from "cloudflare:workers";
import fc from "fast-check";
import { beforeEach, describe, expect, it } from "vitest";
import { openDb } from "../../../src/db/client.ts";
import type { EscrowRecord, Side } from "../../../src/escrow/model/escrow-record.ts";
import { readDiffPage } from "../../../src/escrow/queries/diff-page.ts";
import { app, call, emptyTables } from "../../support/app.ts";
import { TestChain } from "../../support/chain.ts";
import { countingD1, wrapD1 } from "../../support/d1.ts";
import { runs } from "../../support/effort.ts";
import { makeRecord, Writer } from "../../support/sources/records.ts";
import { createSource, settle } from "../../support/sources/sync.ts";

interface Item {
  id: string;
  TransactionHistory: { blockHeight: number }[];
  ActionHistory?: { errorNote: string | null }[];
  resultHash: string;
  onChainStateOrResultLastChangedAt: string;
}

interface HistoryItem {
  historyTruncated?: boolean;
  TransactionHistory: { id: string }[];
  ActionHistory?: { id: string }[];
}

const SIDES = ["purchase", "payment"] as const;
const LIST = { purchase: "Purchases", payment: "Payments" } as const;

async function page(side: Side, query: Record<string, string>): Promise<Item[]> {
  const search = new URLSearchParams({ network: "Preprod", ...query });
  const answer = await call(`/api/v1/${side}/diff/onchain-state-or-result?${search}`);
  expect(answer.status).toBe(200);
  const { data } = (await answer.json()) as { data: Record<string, Item[]> };
  return data[LIST[side]] ?? [];
}

beforeEach(emptyTables);

describe.each(SIDES)("GET /%s/diff/onchain-state-or-result, paged by the rules", (side) => {
  it("shows every change to a client, whatever is written between its pages", async () => {
    const step = fc.oneof(
      fc.record({ do: fc.constant("add" as const), count: fc.integer({ min: 1, max: 4 }) }),
      fc.record({ do: fc.constant("move" as const), picks: fc.array(fc.nat(), { maxLength: 4 }) }),
      fc.record({ do: fc.constant("moveCursorItem" as const) }),
      fc.record({ do: fc.constant("tie" as const), count: fc.integer({ min: 2, max: 5 }) }),
      fc.record({ do: fc.constant("poll" as const) }),
      fc.record({
        do: fc.constant("pollUnknownCursor" as const),
        id: fc.string({ maxLength: 26, minLength: 1 }),
      }),
    );
    const property = fc.asyncProperty(
      fc.array(step, { minLength: 4, maxLength: 16 }),
      fc.oneof(fc.constant(1), fc.constant(2), fc.integer({ min: 1, max: 100 })),
      async (steps, limit) => {
        await emptyTables();
        const writer = await Writer.create(env.DB);
        const records: EscrowRecord[] = [];
        const truth = new Map<string, string>();
        const seen = new Map<string, string>();
        let at: { lastUpdate: string; cursorId: string } | null = null;

        const write = async (changed: EscrowRecord[]) => {
          if (changed.length === 0) return;
          for (const [id, result] of await writer.change(changed)) truth.set(id, result);
        };
        const poll = async (cursorId?: string): Promise<boolean> => {
          const items = await page(side, {
            limit: String(limit),
            ...(at && { ...at, cursorId: cursorId ?? at.cursorId }),
          });
          for (const item of items) seen.set(item.id, item.resultHash);
          const last = items.at(-1);
          const stamp = last?.onChainStateOrResultLastChangedAt;
          const moved = last !== undefined && (last.id !== at?.cursorId || stamp !== at.lastUpdate);
          if (last && cursorId === undefined)
            at = { lastUpdate: last.onChainStateOrResultLastChangedAt, cursorId: last.id };
          return moved;
        };

        for (const one of steps) {
          if (one.do === "add") {
            const added = Array.from({ length: one.count }, () => makeRecord(side));
            records.push(...added);
            await write(added);
          } else if (one.do === "move") {
            const picked = one.picks.flatMap((pick) => records[pick % (records.length || 1)] ?? []);
            await write([...new Set(picked)]);
          } else if (one.do === "moveCursorItem") {
            await write(records.filter(({ id }) => id === at?.cursorId));
          } else if (one.do === "tie") {
            // The clock never gives one stamp twice; the rules must hold for ties all the same.
            const added = Array.from({ length: one.count }, () => makeRecord(side));
            records.push(...added);
            await write(added);
            await env.DB.prepare(
              `UPDATE escrow SET chain_changed_at = (SELECT max(chain_changed_at) FROM escrow)
               WHERE id IN (SELECT value FROM json_each(?))`,
            )
              .bind(JSON.stringify(added.map(({ id }) => id)))
              .run();
            await env.DB.prepare("UPDATE escrow_open SET doc_version = 0").run();
          } else if (one.do === "pollUnknownCursor") await poll(one.id);
          else await poll();
        }
        for (let more = true; more; ) more = await poll();
        expect(Object.fromEntries(seen)).toEqual(Object.fromEntries(truth));
      },
    );
    await fc.assert(property, runs(5, 100));
  });

  it("returns records in ascending order of stamp, then id, each stamp greater than the last", async () => {
    const writer = await Writer.create(env.DB);
    const records = Array.from({ length: 25 }, () => makeRecord(side));
    await writer.change(records.slice(0, 10));
    await writer.change(records.slice(10));
    const items = await page(side, { limit: "100" });
    const stamps = items.map((item) => item.onChainStateOrResultLastChangedAt);
    expect(stamps).toHaveLength(25);
    expect(stamps).toEqual([...new Set(stamps)].sort());
  });
});

it("GET /purchase/diff/… begins at lastUpdate, GET /payment/diff/… after it", async () => {
  const writer = await Writer.create(env.DB);
  for (const side of SIDES) {
    await writer.change([makeRecord(side)]);
    const [only] = await page(side, {});
    const lastUpdate = only?.onChainStateOrResultLastChangedAt ?? "";
    expect(await page(side, { lastUpdate })).toHaveLength(side === "purchase" ? 1 : 0);
    expect(await page(side, { lastUpdate, cursorId: only?.id ?? "" })).toHaveLength(1);
  }
});

it.each(SIDES)(
  "GET /%s/diff/… shows a life read in one pass with its newest step first",
  async (side) => {
    const chain = await TestChain.create();
    const source = await createSource(chain);
    const steps = ["submitResult", "requestRefund", "authorizeRefund", "cancelRefund"];
    await chain.act([
      // Each step after an invalid lock adds to the note of its action.
      { do: "lock", as: "a", version: "Web3ChainV1", datum: { sellerCooldownTime: "5" } },
      ...steps.map((step) => ({ do: step, on: "a" })),
    ]);
    await settle(chain, source);
    const [only] = await page(side, { includeHistory: "true" });
    const heights = only?.TransactionHistory.map(({ blockHeight }) => blockHeight) ?? [];
    expect(heights).toHaveLength(steps.length);
    expect(heights).toEqual(heights.toSorted((a, b) => b - a));
    if (side === "payment") return;
    const notes = only?.ActionHistory?.map(({ errorNote }) => errorNote?.length ?? 0) ?? [];
    expect(new Set(notes).size).toBe(steps.length + 1);
    expect(notes).toEqual(notes.toSorted((a, b) => b - a));
  },
);

it.each(SIDES)(
  "GET /%s/diff/… shows every change, though one comes while rows of an older version are rendered",
  async (side) => {
    const writer = await Writer.create(env.DB);
    const records = Array.from({ length: 3 }, () => makeRecord(side));
    const truth = new Map<string, string>();
    const write = async (record: EscrowRecord) => {
      for (const [id, result] of await writer.change([record])) truth.set(id, result);
    };
    for (const record of records) await write(record);
    await env.DB.prepare("UPDATE escrow_open SET doc_version = 0").run();

    // Each page's last row moves on as soon as the page was read.
    const moving = [...records];
    const d1 = wrapD1(env.DB, async ({ sql }, run) => {
      const result = await run();
      const next = sql.some((one) => one.includes("chain_changed_at AS stamp"))
        ? moving.shift()
        : undefined;
      if (next) await write(next);
      return result;
    });
    const seen = new Map<string, string>();
    let from = {};
    for (let more = true; more; ) {
      const search = new URLSearchParams({ network: "Preprod", limit: "1", ...from });
      const answer = await app.request(
        `/api/v1/${side}/diff/onchain-state-or-result?${search}`,
        { headers: { token: env.ADMIN_KEY ?? "" } },
        { ...env, DB: d1 },
      );
      const { data } = (await answer.json()) as { data: Record<string, Item[]> };
      const items = data[LIST[side]] ?? [];
      for (const { id, resultHash } of items) seen.set(id, resultHash);
      const last = items.at(-1);
      const next = { lastUpdate: last?.onChainStateOrResultLastChangedAt, cursorId: last?.id };
      more = JSON.stringify(next) !== JSON.stringify(from);
      from = next;
    }
    expect(Object.fromEntries(seen)).toEqual(Object.fromEntries(truth));
  },
);

describe("a record with thousands of steps", () => {
  const MAX_HISTORY = 1_000;
  const STEPS = 4_800;

  /** A record as a party leaves it that asks for a refund and takes it back, again and again. */
  async function pingPong(side: Side): Promise<void> {
    const writer = await Writer.create(env.DB);
    await writer.change([makeRecord(side)]);
    await env.DB.batch([
      env.DB.prepare(
        `WITH RECURSIVE step(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM step WHERE n < ?)
         INSERT INTO escrow_transaction (record_id, tx_hash, id, status, created_at, updated_at, block_height)
         SELECT record_id, printf('%064d', n), printf('step-%05d', n), status, created_at, updated_at, 1
         FROM escrow_transaction, step`,
      ).bind(STEPS),
      env.DB.prepare(
        `WITH RECURSIVE step(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM step WHERE n < ?)
         INSERT INTO escrow_action (record_id, id, created_at, updated_at, requested_action, error_note)
         SELECT id, printf('zz-%05d', n), created_at, updated_at, 'None', printf('%.*c', 500, 'x')
         FROM escrow, step WHERE side = 'purchase'`,
      ).bind(STEPS),
    ]);
  }

  it.each(SIDES)(
    "GET /%s and its diffs show the newest thousand steps, and mark the history as truncated",
    async (side) => {
      await pingPong(side);
      const paths = ["", "/diff", "/diff/next-action", "/diff/onchain-state-or-result"];
      for (const path of paths) {
        const answer = await call(`/api/v1/${side}${path}?network=Preprod&includeHistory=true`);
        expect(answer.status).toBe(200);
        const { data } = (await answer.json()) as { data: Record<string, HistoryItem[]> };
        const [item] = data[LIST[side]] ?? [];
        expect(item?.historyTruncated).toBe(true);
        expect(item?.TransactionHistory.map(({ id }) => id)).toEqual(
          Array.from({ length: MAX_HISTORY }, (_, i) => `step-0${STEPS - i}`),
        );
        expect(item?.ActionHistory?.map(({ id }) => id)).toEqual(
          side === "payment"
            ? undefined
            : Array.from({ length: MAX_HISTORY }, (_, i) => `zz-0${STEPS - i}`),
        );
      }
    },
  );

  it.each(SIDES)("GET /%s reads the steps of its record, and nothing else", async (side) => {
    await pingPong(side);
    const { d1, rowsRead } = countingD1(env.DB);
    await readDiffPage(openDb({ DB: d1 }), side, "chain_changed_at", {
      network: "Preprod",
      limit: 10,
      lastUpdate: 0,
      includeHistory: true,
      env,
    });
    // Each transaction is read and sorted. Of the actions, those shown are read.
    expect(rowsRead()).toBeLessThanOrEqual(2 * STEPS + MAX_HISTORY + 10);
  });

  it("keeps the beginning and the end of a note that grows with every step", async () => {
    const chain = await TestChain.create();
    const source = await createSource(chain);
    const datum = { sellerCooldownTime: "5" };
    const steps = Array.from({ length: 24 }, (_, i) => ({
      do: i % 2 === 0 ? "requestRefund" : "cancelRefund",
      on: "a",
    }));
    await chain.act([{ do: "lock", as: "a", version: "Web3ChainV1", datum }, ...steps]);
    await settle(chain, source);
    for (const { note } of await openDb(env).all<{ note: string }>(
      "SELECT error->>'note' AS note FROM escrow",
    )) {
      expect(note).toMatch(/a cooldown is set before anyone acted.* …; then: .*clear the error/);
      expect(note.length).toBeLessThanOrEqual(1_000);
    }
  });

  it.each(SIDES)("GET /%s does not mark a short history as truncated", async (side) => {
    const writer = await Writer.create(env.DB);
    await writer.change([makeRecord(side)]);
    const [item] = await page(side, { includeHistory: "true" });
    expect(item).toBeDefined();
    expect(item).not.toHaveProperty("historyTruncated");
  });
});

describe("rows read by a diff page", () => {
  const sources = [
    { sourceId: "source-a", sourceType: "Web3ChainV1", contractAddress: "addr_test1a" },
    { sourceId: "source-a", sourceType: "Web3ChainV2", contractAddress: "addr_test1b" },
    { sourceId: "source-a", sourceType: "Web3ChainV2", contractAddress: "addr_test1c" },
  ] as const;

  it("are at most two for each record of the page and one more, and the tip, for every filter, at 2,000 records", async () => {
    const writer = await Writer.create(env.DB);
    const records = Array.from({ length: 2000 }, (_, i) =>
      // Every fiftieth is of a rare contract, which a wrong index would search the others for.
      makeRecord("payment", sources[i % 50 === 0 ? 2 : i % 2] ?? {}),
    );
    for (let i = 0; i < records.length; i += 200) await writer.change(records.slice(i, i + 200));
    const { results: all } = await env.DB.prepare(
      "SELECT chain_changed_at AS at FROM escrow ORDER BY chain_changed_at",
    ).all<{ at: number }>();

    const filters = [undefined, ...sources.map((one) => one.contractAddress), "addr_test1none"];
    const types = [undefined, "Web3ChainV1", "Web3ChainV2"] as const;
    for (const filterSmartContractAddress of filters)
      for (const filterPaymentSourceType of types)
        for (const start of [0, 1000, 1990])
          for (const limit of [10, 100]) {
            const { d1, rowsRead } = countingD1(env.DB);
            const query = {
              network: "Preprod" as const,
              limit,
              lastUpdate: all[start]?.at ?? 0,
              filterSmartContractAddress,
              filterPaymentSourceType,
              includeHistory: false,
              env: {},
            };
            await readDiffPage(openDb({ DB: d1 }), "payment", "chain_changed_at", query);
            expect(rowsRead(), JSON.stringify(query)).toBeLessThanOrEqual(2 * limit + 3);
          }
  });
});
