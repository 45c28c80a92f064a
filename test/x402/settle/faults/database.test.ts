import { beforeEach, describe, expect, it } from "vitest";
import { emptyTables } from "../../../support/app.ts";
import type { Around } from "../../../support/d1.ts";
import { SettlementFixture } from "../../settlement-fixture.ts";

let fixture: SettlementFixture;

beforeEach(async () => {
  await emptyTables();
  fixture = await SettlementFixture.open("84532-database");
});

const lost = () => Promise.reject(new Error("D1_ERROR: Network connection lost."));
const works: Around = (_, run) => run();

/** Runs around the batches that the objects write, counted from 1. */
const onBatches = (around: (n: number, run: () => Promise<unknown>) => Promise<unknown>) => {
  let batches = 0;
  return fixture.onDatabase(
    ({ kind }, run) =>
      (kind === "batch" ? around(++batches, run) : run()) as ReturnType<typeof run>,
  );
};

describe("a database that fails before the settlement", () => {
  it("answers 503 and sends nothing, and the same payment again settles", async () => {
    await onBatches(lost);
    const { status, headers } = await fixture.settle();
    expect(status).toBe(503);
    expect(headers.get("retry-after")).toMatch(/^\d+$/);
    await fixture.onDatabase(works);
    expect(await fixture.paidIn()).toEqual([]);
    await fixture.expectSettledOnce();
  });

  it("and had written the attempt: the same payment again settles under that", async () => {
    await loseAnswerOfAttempt();
    const [verified] = await fixture.attempts();
    const { data } = await fixture.settle();
    expect(data).toMatchObject({ attemptId: verified?.id, replay: false });
    await fixture.expectSettledOnce();
    expect(await fixture.attempts()).toHaveLength(1);
  });

  it("and had written the attempt: the alarm gives it up, and the payment settles anew", async () => {
    await loseAnswerOfAttempt();
    await fixture.fireAlarms();
    await fixture.expectFailedOnce("unexpected_settle_error");
    await fixture.expectSettledOnce();
  });

  it("once, and had written the attempt: its repeat finds that, and the payment settles", async () => {
    await onBatches(async (n, run) => {
      const result = await run();
      return n === 1 ? lost() : result;
    });
    expect((await fixture.settle()).data).toMatchObject({ replay: false });
    await fixture.expectSettledOnce();
    expect(await fixture.attempts()).toHaveLength(1);
  });
});

/** The attempt is written, nobody learns of it, and then the database is gone. */
async function loseAnswerOfAttempt(): Promise<void> {
  await onBatches(async (n, run) => {
    if (n === 1) await run();
    return lost();
  });
  expect((await fixture.settle()).status).toBe(503);
  await fixture.onDatabase(works);
  expect(await fixture.attempts()).toMatchObject([{ status: "Verified", Settlement: null }]);
  expect(await fixture.paidIn()).toEqual([]);
}

describe("a database that fails after the settlement", () => {
  it("does not change the answer, and has the books follow", async () => {
    await onBatches((n, run) => (n > 1 ? lost() : run()));
    const { data } = await fixture.settle();
    expect(data).toMatchObject({ replay: false, settleResponse: { success: true } });
    expect(await fixture.attempts()).toMatchObject([{ status: "Verified" }]);
    expect(await fixture.events()).toEqual([]);
    await fixture.onDatabase(works);
    await fixture.fireAlarms();
    expect(await fixture.attempts()).toMatchObject([{ status: "Settled" }]);
    await fixture.expectSettledOnce();
  });

  it("and had written the outcome: it is written once", async () => {
    await onBatches(async (n, run) => {
      const result = await run();
      return n > 1 ? lost() : result;
    });
    const { data } = await fixture.settle();
    expect(data).toMatchObject({ replay: false, settleResponse: { success: true } });
    await fixture.onDatabase(works);
    await fixture.fireAlarms();
    await fixture.expectSettledOnce();
  });
});
