import { beforeEach, describe, expect, it } from "vitest";
import { emptyTables } from "../../../support/app.ts";
import { type Around, isWritingBatch } from "../../../support/d1.ts";
import { FULL_ERROR } from "../../../support/full-d1.ts";
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
    (call, run) =>
      (isWritingBatch(call) ? around(++batches, run) : run()) as ReturnType<typeof run>,
  );
};

describe("a database that fails before the settlement", () => {
  it("causes a 503 without a transaction, and the same payment settles when it is sent again", async () => {
    await onBatches(lost);
    const { status, headers } = await fixture.settle();
    expect(status).toBe(503);
    expect(headers.get("retry-after")).toMatch(/^\d+$/);
    await fixture.onDatabase(works);
    expect(await fixture.paidIn()).toEqual([]);
    await fixture.expectSettledOnce();
  });

  it("since it is full causes a 503 database_full without a transaction, and the payment settles later", async () => {
    await onBatches(() => Promise.reject(new Error(FULL_ERROR)));
    const { status, headers, message } = await fixture.settle();
    expect([status, message]).toEqual([503, "The database is full. Send the payment again later."]);
    expect(headers.get("retry-after")).toMatch(/^\d+$/);
    await fixture.onDatabase(works);
    expect(await fixture.paidIn()).toEqual([]);
    await fixture.expectSettledOnce();
  });

  it("but has stored the attempt settles the repeated payment under this attempt", async () => {
    await loseAnswerOfAttempt();
    const [verified] = await fixture.attempts();
    const { data } = await fixture.settle();
    expect(data).toMatchObject({ attemptId: verified?.id, replay: false });
    await fixture.expectSettledOnce();
    expect(await fixture.attempts()).toHaveLength(1);
  });

  it("but has stored the attempt lets the alarm end the attempt, and the payment settles in another", async () => {
    await loseAnswerOfAttempt();
    await fixture.fireAlarms();
    await fixture.expectFailedOnce("unexpected_settle_error");
    await fixture.expectSettledOnce();
  });

  it("once but has stored the attempt lets the repeated write find the attempt, and the payment settles", async () => {
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
  it("does not change the answer, and stores the outcome later", async () => {
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

  it("but has stored the outcome stores the outcome only once", async () => {
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
