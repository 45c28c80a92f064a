import { env } from "cloudflare:workers";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { emptyTables } from "../../support/app.ts";
import { makeRecord, Writer } from "../../support/sources/records.ts";

/** Bytes that D1 takes in one parameter. */
const D1_LIMIT = 2_000_000;

beforeEach(emptyTables);
afterEach(() => vi.restoreAllMocks());

it("a batch of records with notes of multi-byte characters has no parameter beyond D1's limit", async () => {
  const bind = vi.spyOn(Object.getPrototypeOf(env.DB.prepare("SELECT 1")), "bind");
  const writer = await Writer.create(env.DB);
  const records = Array.from({ length: 80 }, () => {
    const record = makeRecord("payment");
    const error = { isManual: true, type: "Unknown", note: "語".repeat(15_000), txHash: null };
    return { ...record, progress: { ...record.progress, error } };
  });
  await writer.change(records);
  const sizes = bind.mock.calls
    .flat()
    .map((parameter) => (typeof parameter === "string" ? Buffer.byteLength(parameter) : 0));
  expect(Math.max(...sizes)).toBeGreaterThan(D1_LIMIT / 4);
  expect(Math.max(...sizes)).toBeLessThan(D1_LIMIT);
  const [written] = (await env.DB.prepare("SELECT count(*) AS n FROM escrow").all()).results;
  expect(written).toEqual({ n: 80 });
});
