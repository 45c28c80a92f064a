import { env } from "cloudflare:workers";
import fc from "fast-check";
import { beforeEach, describe, expect, it } from "vitest";
import { db } from "../../src/db/client.ts";
import { diffPage } from "../../src/escrow/diff.ts";
import type { EscrowRecord, Side } from "../../src/escrow/record.ts";
import { call, emptyTables } from "../support/app.ts";
import { TestChain } from "../support/chain.ts";
import { countingD1 } from "../support/d1.ts";
import { makeRecord, Writer } from "../support/records.ts";
import { createSource, settle } from "../support/sync.ts";

interface Item {
  id: string;
  TransactionHistory: { blockHeight: number }[];
  ActionHistory?: { errorNote: string | null }[];
  resultHash: string;
  onChainStateOrResultLastChangedAt: string;
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
    const runs = fc.asyncProperty(
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
              `UPDATE escrow SET chain_changed_at = (SELECT max(chain_changed_at) FROM escrow),
                 doc = replace(doc, '"onChainStateOrResultLastChangedAt":"' ||
                   strftime('%Y-%m-%dT%H:%M:%fZ', chain_changed_at / 1000.0, 'unixepoch'),
                   '"onChainStateOrResultLastChangedAt":"' || strftime('%Y-%m-%dT%H:%M:%fZ',
                   (SELECT max(chain_changed_at) FROM escrow) / 1000.0, 'unixepoch'))
               WHERE id IN (SELECT value FROM json_each(?))`,
            )
              .bind(JSON.stringify(added.map(({ id }) => id)))
              .run();
          } else if (one.do === "pollUnknownCursor") await poll(one.id);
          else await poll();
        }
        for (let more = true; more; ) more = await poll();
        expect(Object.fromEntries(seen)).toEqual(Object.fromEntries(truth));
      },
    );
    await fc.assert(runs, { numRuns: 30 });
  }, 120_000);

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
    const steps = [
      "submitResult",
      "requestRefund",
      "authorizeRefund",
      "cancelRefund",
      "requestRefund",
    ];
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

describe("rows read by a diff page", () => {
  const sources = [
    { sourceId: "source-a", sourceType: "Web3ChainV1", contractAddress: "addr_test1a" },
    { sourceId: "source-a", sourceType: "Web3ChainV2", contractAddress: "addr_test1b" },
    { sourceId: "source-a", sourceType: "Web3ChainV2", contractAddress: "addr_test1c" },
  ] as const;

  it("are at most the page, one more and the tip, for every filter, at 2,000 records", async () => {
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
            };
            await diffPage(db({ DB: d1 }), "payment", "chain_changed_at", query);
            expect(rowsRead(), JSON.stringify(query)).toBeLessThanOrEqual(limit + 2);
          }
  });
});
