import { env } from "cloudflare:workers";
import { expect, it } from "vitest";
import { batchReads } from "../../src/db/batch-reads.ts";
import { DatabaseUnavailableError, openDb } from "../../src/db/client.ts";
import { type D1Call, failingD1, wrapD1 } from "../support/d1.ts";

const ONE = "SELECT ? AS one";

it("Reads that begin together are one call", async () => {
  const calls: D1Call["kind"][] = [];
  const DB = wrapD1(env.DB, (call, run) => {
    calls.push(call.kind);
    return run();
  });
  const database = batchReads(openDb({ DB }));
  const late = async () => {
    await null;
    return database.all(ONE, 3);
  };
  const together = Promise.all([database.all(ONE, 1), database.all(ONE, 2), late()]);
  expect(await together).toEqual([[{ one: 1 }], [{ one: 2 }], [{ one: 3 }]]);
  expect(await database.all(ONE, 4)).toEqual([{ one: 4 }]);
  expect(calls).toEqual(["batch", "all"]);
});

it("A read that D1 refuses fails alone", async () => {
  const database = batchReads(openDb(env));
  const [good, bad] = await Promise.allSettled([
    database.all(ONE, 1),
    database.all("SELECT json('not JSON')"),
  ]);
  expect(good).toEqual({ status: "fulfilled", value: [{ one: 1 }] });
  expect(bad).toMatchObject({ status: "rejected", reason: expect.any(Error) });
});

it("All reads of a batch fail when the database is unavailable", async () => {
  const { d1, calls } = failingD1(env.DB, "D1_ERROR: D1 DB is overloaded.", "before", () => true);
  const database = batchReads(openDb({ DB: d1 }));
  const reads = await Promise.allSettled([database.all(ONE, 1), database.all(ONE, 2)]);
  for (const read of reads)
    expect(read).toMatchObject({ reason: expect.any(DatabaseUnavailableError) });
  expect(calls()).toBe(1);
});
