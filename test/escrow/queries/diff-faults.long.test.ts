import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, it } from "vitest";
import { app, emptyTables } from "../../support/app.ts";
import { failingD1, OVERLOAD_ERRORS, RETRYABLE_ERRORS, wrapD1 } from "../../support/d1.ts";
import { paired, sampled, sweep } from "../../support/effort.ts";
import { insertKey } from "../../support/keys.ts";
import { makeRecord, Writer } from "../../support/sources/records.ts";

const SIDES = ["purchase", "payment"] as const;
const MOMENTS = ["before", "after"] as const;

/** Asks for a page with a key that no isolate has seen, so that D1 is asked for it too. */
async function page(side: string, overrides: { DB?: D1Database; REQUEST_DEADLINE_MS?: string }) {
  const token = await insertKey({});
  const answer = await app.request(
    `/api/v1/${side}/diff/onchain-state-or-result?network=Preprod&includeHistory=true`,
    { headers: { token } },
    { ...env, ...overrides },
  );
  const { status, headers } = answer;
  const body = (await answer.json()) as { error?: { code: string; message: string } };
  const { code, message } = body.error ?? {};
  const shown = status === 200 ? body : { code, message };
  return { status, retryAfter: headers.get("retry-after"), body: shown };
}

const UNAVAILABLE = {
  status: 503,
  retryAfter: "2",
  body: { code: "database_unavailable", message: "The database is unavailable" },
};

/** Every row that a page is made of. */
async function rows(): Promise<unknown> {
  const tables = [
    "escrow",
    "escrow_transaction",
    "escrow_open",
    "escrow_undo",
    "escrow_action",
    "chain_tip",
    "clock",
  ];
  const read = await env.DB.batch(tables.map((name) => env.DB.prepare(`SELECT * FROM ${name}`)));
  return read.map(({ results }) => results);
}

beforeEach(async () => {
  await emptyTables();
  const writer = await Writer.create(env.DB);
  await writer.change(SIDES.map((side) => makeRecord(side)));
});

describe.each(SIDES)("GET /%s/diff/onchain-state-or-result when D1", (side) => {
  const turn = SIDES.indexOf(side);

  it.each(paired(sampled(4, RETRYABLE_ERRORS), MOMENTS, turn))(
    "fails once %s it answered, at any call, gives the page all the same: %s",
    async (when, text) => {
      const sound = await page(side, {});
      const before = await rows();
      const counting = failingD1(env.DB, text, when, () => false);
      await page(side, { DB: counting.d1 });
      expect(counting.calls()).toBeGreaterThanOrEqual(2);
      for (const k of sweep(3, counting.calls())) {
        const { d1 } = failingD1(env.DB, text, when, (n) => n === k);
        expect(await page(side, { DB: d1 }), `call ${k}`).toEqual(sound);
      }
      expect(await rows()).toEqual(before);
    },
  );

  it.each(paired(sampled(4, [...RETRYABLE_ERRORS, ...OVERLOAD_ERRORS]), MOMENTS, turn))(
    "fails for good %s it answered, says 503 and changes nothing: %s",
    async (when, text) => {
      const before = await rows();
      const { d1 } = failingD1(env.DB, text, when, () => true);
      expect(await page(side, { DB: d1 })).toEqual(UNAVAILABLE);
      expect(await rows()).toEqual(before);
      expect((await page(side, {})).status).toBe(200);
    },
  );

  it("never answers, says 503 within the deadline", async () => {
    const hung = wrapD1(env.DB, () => new Promise(() => {}));
    const answer = await page(side, { DB: hung, REQUEST_DEADLINE_MS: "300" });
    expect(answer).toMatchObject({ status: 503, retryAfter: "2" });
  });

  it("leaves one call of them without an answer, asks again within the deadline", async () => {
    const sound = await page(side, {});
    for (const hanging of [1, 2]) {
      let calls = 0;
      const d1 = wrapD1(env.DB, (_, run) => (++calls === hanging ? new Promise(() => {}) : run()));
      expect(await page(side, { DB: d1, REQUEST_DEADLINE_MS: "6000" })).toEqual(sound);
    }
  });
});
