import { env } from "cloudflare:workers";
import { afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { emptyTables } from "../../support/app.ts";
import { isWritingBatch, wrapD1 } from "../../support/d1.ts";
import { SettlementFixture } from "../settlement-fixture.ts";
import { atEveryStep, follow, Halt } from "../steps.ts";
import { settle } from "../x402-fixture.ts";

let fixture: SettlementFixture;

beforeAll(async () => {
  await emptyTables();
  fixture = await SettlementFixture.open("84532-joins");
});
afterEach(() => vi.unstubAllGlobals());

/** Ids of the rows that repeats of the payment have left. */
async function replayed(): Promise<string[]> {
  const { results } = await env.DB.prepare(
    "SELECT id FROM x402_payment_attempt WHERE pay_to = ? AND status = 'Replayed' ORDER BY id",
  )
    .bind(fixture.source.payTo)
    .all<{ id: string }>();
  return results.map(({ id }) => id);
}

/** A facilitator's answer has no id. */
const orAnyId = (id: string) => id || expect.any(String);

describe("a payment that is sent again while the first is held up", () => {
  it.each(["before", "after"] as const)(
    "%s any step that is awaited joins it: one success, one replay, one transfer",
    async (when) => {
      const steps = await atEveryStep(9, async (k) => {
        await fixture.again();
        const halt = new Halt(k, when);
        await follow(fixture, halt.step);
        let isDone = false;
        const first = fixture.settle().finally(() => {
          isDone = true;
        });
        await vi.waitUntil(() => halt.isReached || isDone, { interval: 1, timeout: 120_000 });
        const second = fixture.settle();
        // Others that come after the second are answered: so that has arrived as well.
        const disguised = { ...fixture.payment, extensions: {} };
        for (let n = 0; n < 3; n++)
          expect((await settle(fixture.source, disguised)).status).toBe(409);
        halt.isOver = true;

        const answers = await Promise.all([first, second]);
        vi.unstubAllGlobals();
        for (const { status, data } of answers)
          expect({ status, data }, `held at step ${k}`).toMatchObject({
            status: 200,
            data: { settleResponse: { success: true } },
          });
        const told = answers.map(({ data }) => data);
        expect(told.filter(({ replay }) => !replay)).toHaveLength(1);
        const repeats = told.filter(({ replay }) => replay).map(({ attemptId }) => attemptId);
        expect(await replayed()).toEqual(repeats.map(orAnyId));
        await fixture.expectSettledOnce();
        return halt.isReached;
      });
      // How many there are at most depends on when the block is seen.
      expect(steps).toBeGreaterThanOrEqual(12);
    },
  );
});

describe("a settled payment that is sent again", () => {
  it("while the database loses the answer to its row: the row is there once", async () => {
    await fixture.again();
    const { settleResponse } = (await fixture.settle()).data;
    let lost = 0;
    const DB = wrapD1(env.DB, async (call, run) => {
      const result = await run();
      if (isWritingBatch(call) && lost++ === 0)
        throw new Error("D1_ERROR: Network connection lost.");
      return result;
    });
    const { status, data } = await fixture.settleOn({ DB });
    expect({ status, data }).toMatchObject({
      status: 200,
      data: { replay: true, settleResponse },
    });
    expect(lost).toBeGreaterThan(0);
    expect(await replayed()).toEqual([orAnyId(data.attemptId)]);
  });
});
