import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { runs } from "../../support/effort.ts";
import { payeeOf } from "../payments.ts";
import { sameEachTime } from "../same-each-time.ts";
import { NEVER_SENT, type OddTask } from "../throwing.ts";
import { wrongTasks } from "../wallet-tasks.ts";
import {
  askFor,
  askTransfer,
  FEATURES,
  type Feature,
  featuresOf,
  lateIn,
  notSent,
  shownOf,
} from "./features.ts";
import { PurchaseModel } from "./purchase-model.ts";

sameEachTime();

const TRIES = 3;
const BLOCK_MS = 20_000;
/** A transaction's validity, and how late a provider may show it. */
const VALID_MS = 8 * 60_000;
/** Blocks after which a transaction is final, and some. */
const FINAL_BLOCKS = 25;
const FUNDS = [[400, 90, 80, 70, 60, 5], [1], [1]];
const STOPPED = /^An internal error stopped this task\. /;
const NOT_RECORDED = /^An internal error keeps this record from showing /;

/** A wallet with a task for which its feature throws, and others before and after it. */
async function open(feature: Feature, odd: OddTask) {
  const model = new PurchaseModel(FUNDS);
  const tasks = new Map<string, OddTask>();
  model.featuresOf = featuresOf(tasks);
  const first = await askTransfer(model.db, model.ledger.now);
  const { id, task } = await askFor(feature, model);
  tasks.set(task, { ...odd });
  const transfers = [first, await askTransfer(model.db, model.ledger.now)];
  await model.buy(0, 1);
  const [{ id: purchase } = { id: "" }] = model.database.all<{ id: string }>(
    "SELECT id FROM escrow WHERE side = 'purchase' AND id <> ? ORDER BY id DESC LIMIT 1",
    id,
  );
  model.pass(1_100);
  await model.run(0);
  expect(notSent(model, transfers, purchase)).toEqual([]);
  return { model, id };
}

const placed = (place: OddTask["place"], more: Partial<OddTask> = {}): OddTask => ({
  ...{ work: "payment", place, isMute: false, times: 1, at: 0 },
  ...more,
});

describe("a task for which its feature's own code throws before it is sent", () => {
  it("fails alone, says so, and is tried again after growing pauses, in every feature", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...FEATURES),
        fc.constantFrom(...NEVER_SENT),
        async (feature, place) => {
          const { model, id } = await open(feature, placed(place));
          const pauses: number[] = [];
          for (let tries = 1; tries <= TRIES; tries++) {
            const { note, dueAt, failures } = shownOf(model, feature, id);
            expect({ note, failures }).toEqual({
              note: expect.stringMatching(STOPPED),
              failures: tries,
            });
            pauses.push((dueAt ?? 0) - model.ledger.now);
            model.pass((pauses.at(-1) ?? 0) + 1);
            await model.run(0);
            expect(wrongTasks(model.database)).toEqual([]);
          }
          expect(new Set(pauses).size).toBe(TRIES);
          expect(pauses).toEqual(pauses.toSorted((a, b) => a - b));
        },
      ),
      runs(24, 300),
    );
  });

  it("stops no other task when its record takes no failure either, in every feature", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...FEATURES),
        fc.constantFrom(...NEVER_SENT),
        async (feature, place) => {
          const { model } = await open(feature, placed(place, { isMute: true }));
          const transfer = await askTransfer(model.db, model.ledger.now);
          model.pass(1_000);
          await model.run(0);
          expect(notSent(model, [transfer], "")).toEqual([]);
        },
      ),
      runs(12, 300),
    );
  });
});

describe("a record for which its feature's own code throws after its transaction was sent", () => {
  it("says so, and is written by a later run, in every feature", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...FEATURES),
        fc.constantFrom("later", "laterRefused"),
        fc.integer({ min: 1, max: 4 }),
        async (feature, place, runsThatThrow) => {
          // Each run asks twice: with the others, and alone.
          const times = 2 * runsThatThrow;
          const { model, id } = await open(feature, placed(place, { times }));
          model.pass(BLOCK_MS);
          model.ledger.mine();
          await model.run(0);
          const others = model.database.all("SELECT 1 FROM transfer WHERE state = 'Confirmed'");
          expect(others.length).toBeGreaterThanOrEqual(place === "later" ? 2 : 0);
          if (place === "later") expect(shownOf(model, feature, id).note).toMatch(NOT_RECORDED);
          // The pauses between its tries grow.
          for (let round = 0; round <= 6 * times; round++) {
            model.pass(6 * BLOCK_MS);
            model.ledger.mine();
            await model.run(0);
            expect(wrongTasks(model.database)).toEqual([]);
          }
          expect(lateIn(model)).toEqual([]);
          expect(shownOf(model, feature, id)).toMatchObject({ isDone: true });
          const unpaid = model.database.all("SELECT id FROM transfer WHERE state <> 'Confirmed'");
          expect(unpaid).toEqual([]);
        },
      ),
      runs(12, 300),
    );
  });

  it("is not done twice, though its record asks for it again when its transaction is final", async () => {
    const model = new PurchaseModel(FUNDS);
    const { ledger } = model;
    const odd = placed("later", { times: 0 });
    const { id, task } = await askFor("transfer", model);
    model.featuresOf = featuresOf(new Map([[task, odd]]));
    await model.run(0);
    ledger.mine();
    // The provider shows its block so late that it is taken to have expired.
    model.pass(VALID_MS);
    ledger.transactionsBehind = 2;
    ledger.mine();
    await model.run(0);
    expect(shownOf(model, "transfer", id)).toMatchObject({ failures: 1, isDone: false });
    ledger.transactionsBehind = 0;
    odd.times = Number.POSITIVE_INFINITY;
    for (let block = 0; block < FINAL_BLOCKS; block++) {
      model.pass(BLOCK_MS);
      ledger.mine();
      await model.run(0);
    }
    expect(model.database.all("SELECT phase FROM wallet_transaction")).toEqual([
      { phase: "Final" },
    ]);
    expect(ledger.paidTo(payeeOf("transfer"))).toBe(1);
    odd.times = 0;
    for (let block = 0; block < FINAL_BLOCKS; block++) {
      model.pass(BLOCK_MS);
      await model.run(0);
    }
    expect(shownOf(model, "transfer", id)).toMatchObject({ note: null, isDone: true });
    expect(model.database.all("SELECT * FROM wallet_task")).toEqual([]);
    expect(lateIn(model)).toEqual([]);
  });
});
