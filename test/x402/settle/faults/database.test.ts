import { beforeEach, describe, expect, it } from "vitest";
import { emptyTables } from "../../../support/app.ts";
import type { Around } from "../../../support/d1.ts";
import { Scene } from "../../scene.ts";

let scene: Scene;

beforeEach(async () => {
  await emptyTables();
  scene = await Scene.open("84532-database");
});

const lost = () => Promise.reject(new Error("D1_ERROR: Network connection lost."));
const works: Around = (_, run) => run();

/** Runs around the batches that the objects write, counted from 1. */
const onBatches = (around: (n: number, run: () => Promise<unknown>) => Promise<unknown>) => {
  let batches = 0;
  return scene.onDatabase(
    ({ kind }, run) =>
      (kind === "batch" ? around(++batches, run) : run()) as ReturnType<typeof run>,
  );
};

describe("a database that fails before the settlement", () => {
  it("answers 503 and sends nothing, and the same payment again settles", async () => {
    await onBatches(lost);
    const { status, headers } = await scene.settle();
    expect(status).toBe(503);
    expect(headers.get("retry-after")).toMatch(/^\d+$/);
    await scene.onDatabase(works);
    expect(await scene.paidIn()).toEqual([]);
    await scene.expectSettledOnce();
  });

  it("and had written the attempt: the same payment again settles under that", async () => {
    await loseAnswerOfAttempt();
    const [verified] = await scene.attempts();
    const { data } = await scene.settle();
    expect(data).toMatchObject({ attemptId: verified?.id, replay: false });
    await scene.expectSettledOnce();
    expect(await scene.attempts()).toHaveLength(1);
  });

  it("and had written the attempt: the alarm gives it up, and the payment settles anew", async () => {
    await loseAnswerOfAttempt();
    await scene.fireAlarms();
    await scene.expectFailedOnce("unexpected_settle_error");
    await scene.expectSettledOnce();
  });

  it("once, and had written the attempt: its repeat finds that, and the payment settles", async () => {
    await onBatches(async (n, run) => {
      const result = await run();
      return n === 1 ? lost() : result;
    });
    expect((await scene.settle()).data).toMatchObject({ replay: false });
    await scene.expectSettledOnce();
    expect(await scene.attempts()).toHaveLength(1);
  });
});

/** The attempt is written, nobody learns of it, and then the database is gone. */
async function loseAnswerOfAttempt(): Promise<void> {
  await onBatches(async (n, run) => {
    if (n === 1) await run();
    return lost();
  });
  expect((await scene.settle()).status).toBe(503);
  await scene.onDatabase(works);
  expect(await scene.attempts()).toMatchObject([{ status: "Verified", Settlement: null }]);
  expect(await scene.paidIn()).toEqual([]);
}

describe("a database that fails after the settlement", () => {
  it("does not change the answer, and has the books follow", async () => {
    await onBatches((n, run) => (n > 1 ? lost() : run()));
    const { data } = await scene.settle();
    expect(data).toMatchObject({ replay: false, settleResponse: { success: true } });
    expect(await scene.attempts()).toMatchObject([{ status: "Verified" }]);
    expect(await scene.events()).toEqual([]);
    await scene.onDatabase(works);
    await scene.fireAlarms();
    expect(await scene.attempts()).toMatchObject([{ status: "Settled" }]);
    await scene.expectSettledOnce();
  });

  it("and had written the outcome: it is written once", async () => {
    await onBatches(async (n, run) => {
      const result = await run();
      return n > 1 ? lost() : result;
    });
    const { data } = await scene.settle();
    expect(data).toMatchObject({ replay: false, settleResponse: { success: true } });
    await scene.onDatabase(works);
    await scene.fireAlarms();
    await scene.expectSettledOnce();
  });
});
