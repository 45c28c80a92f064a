import { env } from "cloudflare:workers";
import fc from "fast-check";
import { expect, it } from "vitest";
import { openDb, statement } from "../../src/db/client.ts";
import { isoTimeSql, reserveStamps, stampSql } from "../../src/db/clock.ts";
import { runs } from "../support/effort.ts";

async function take(count: number, now: number): Promise<number[]> {
  const at = stampSql("registry", "Preprod", count, "key");
  const results = await openDb(env).batch([
    reserveStamps("registry", "Preprod", count, now),
    statement(
      `SELECT ${at.sql} AS at FROM json_each(?)`,
      ...at.params,
      JSON.stringify(Array(count).fill(0)),
    ),
  ]);
  const rows = (results[1]?.results ?? []) as { at: number }[];
  return rows.map((row) => row.at);
}

it("stamps are unique and strictly increasing, whatever the writers' clocks say", async () => {
  let last = 0;
  const batch = fc.record({
    count: fc.integer({ min: 1, max: 20 }),
    skew: fc.integer({ min: -5_000, max: 5_000 }),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(batch, { maxLength: 6 }), async (batches) => {
      for (const { count, skew } of batches) {
        const stamps = await take(count, Date.now() + skew);
        expect(stamps).toHaveLength(count);
        for (const at of stamps) {
          expect(at).toBeGreaterThan(last);
          last = at;
        }
      }
    }),
    runs(10, 500),
  );
});

it("a clock more than a minute ahead is refused, and moves nothing", async () => {
  const [before] = await take(1, Date.now());
  await expect(take(1, Date.now() + 3_600_000)).rejects.toThrow(/clock\.t/);
  const [after] = await take(1, Date.now());
  expect((after ?? 0) - (before ?? 0)).toBeLessThan(60_000);
});

it("two writers at once never share a stamp", async () => {
  const all = (await Promise.all(Array.from({ length: 20 }, () => take(5, Date.now())))).flat();
  expect(new Set(all).size).toBe(100);
});

it("SQL prints a stamp as Date.toISOString does", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.integer({ min: 0, max: 4_102_444_800_000 }), { minLength: 1, maxLength: 200 }),
      async (times) => {
        const rows = await openDb(env).all<{ text: string }>(
          `SELECT ${isoTimeSql("value")} AS text FROM json_each(?)`,
          JSON.stringify(times),
        );
        expect(rows.map(({ text }) => text)).toEqual(times.map((at) => new Date(at).toISOString()));
      },
    ),
    runs(10, 500),
  );
});
