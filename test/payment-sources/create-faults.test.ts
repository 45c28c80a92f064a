import { env } from "cloudflare:workers";
import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import { emptyTables } from "../support/app.ts";
import { failingD1, OVERLOAD_ERRORS, RETRYABLE_ERRORS, wrapD1 } from "../support/d1.ts";
import { paired, sweep } from "../support/effort.ts";
import { count, SourceApi } from "../support/sources/api.ts";

const ERRORS = [...RETRYABLE_ERRORS, ...OVERLOAD_ERRORS];
const MOMENTS = ["before", "after"] as const;
const TABLES = ["payment_source", "managed_wallet", "source_cursor", "audit"];

let api: SourceApi;
beforeAll(async () => {
  api = await SourceApi.open();
});
beforeEach(emptyTables);

function create(DB: D1Database, key?: string, deadlineMs = 60_000) {
  const headers = { ...(key && { "idempotency-key": key }) };
  const overrides = { DB, REQUEST_DEADLINE_MS: String(deadlineMs) };
  return api.create(api.purchasing(), { headers, env: overrides });
}

const written = () => Promise.all(TABLES.map(count));

/** How often a creation asks D1. */
async function callsOfOne(): Promise<number> {
  const { d1, calls } = failingD1(env.DB, "", "before", () => false);
  expect((await create(d1, "counting")).status).toBe(200);
  expect(await written()).toEqual([1, 1, 1, 1]);
  await emptyTables();
  return calls();
}

describe("POST /payment-source-extended when D1 fails", () => {
  it.each(paired(ERRORS, MOMENTS))(
    "%s it applied, at any call, makes one source with one retry: %s",
    async (when, text) => {
      const calls = await callsOfOne();
      for (const k of sweep(9, calls)) {
        const { d1 } = failingD1(env.DB, text, when, (n) => n === k);
        const first = await create(d1, "once");
        expect([200, 503], `call ${k}: ${first.message}`).toContain(first.status);
        if (first.status === 503) expect(first.headers.get("retry-after")).toBe("2");

        const again = await create(env.DB, "once");
        expect(again.status, `call ${k}: ${again.message}`).toBe(200);
        if (first.status === 200) expect(again.data).toEqual(first.data);
        expect(await written(), `call ${k}`).toEqual([1, 1, 1, 1]);
        expect((await api.list()).data.ExtendedPaymentSources).toEqual([again.data]);
        await emptyTables();
      }
    },
  );

  it.each(paired(ERRORS, MOMENTS, 1))(
    "%s it applied, makes one source even without an Idempotency-Key: %s",
    async (when, text) => {
      const calls = await callsOfOne();
      for (const k of sweep(9, calls)) {
        const { d1 } = failingD1(env.DB, text, when, (n) => n === k);
        const { status } = await create(d1);
        const again = await create(env.DB);
        // 503 leaves open whether the source was made; asked again, the contract tells.
        expect([200, 409], `call ${k} after ${status}`).toContain(again.status);
        expect(await written(), `call ${k}`).toEqual([1, 1, 1, 1]);
        await emptyTables();
      }
    },
  );

  it("never answers: 503 within the deadline, and nothing is made", async () => {
    const hung = wrapD1(env.DB, () => new Promise(() => {}));
    const answer = await create(hung, "hung", 500);
    expect(answer.status).toBe(503);
    expect(answer.headers.get("retry-after")).toBe("2");
    expect(await written()).toEqual([0, 0, 0, 0]);
  });
});
