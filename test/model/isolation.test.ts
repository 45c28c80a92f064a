import fc from "fast-check";
import { beforeAll, describe, expect, it, vi } from "vitest";
import { runs } from "../support/effort.ts";
import { payeeOf } from "./payments.ts";
import { payeeOfStep } from "./steps.ts";
import { STORY_ACTIONS, Story, type StoryAction } from "./story.ts";
import { isNeverSent, type OddTask, oddTasksOf } from "./throwing.ts";
import type { WalletModel } from "./wallet-model.ts";

beforeAll(() => {
  for (const level of ["info", "warn", "error"] as const)
    vi.spyOn(console, level).mockImplementation(() => {});
});

const NOTHING_WRONG = {
  notDone: [],
  paidWrongly: [],
  paidTwice: [],
  wrongSteps: [],
  toldWrongly: [],
};
const INTERNAL = /An internal error stopped this task/;

const storyAction = fc.tuple(
  fc.constantFrom(...STORY_ACTIONS),
  fc.nat(1023),
) satisfies fc.Arbitrary<StoryAction>;
/** Deeds that mean the same however many tasks, steps and transactions there are. */
const calmDeed = fc.tuple(
  fc.constantFrom("ask", "step", "run", "run", "mine", "wait"),
  fc.nat(1023),
) satisfies fc.Arbitrary<StoryAction>;
const outputs = fc.array(fc.integer({ min: 1, max: 400 }), { maxLength: 6 });
const seed = fc.nat();
const some = (one: fc.Arbitrary<StoryAction>) => fc.array(one, { minLength: 5, maxLength: 30 });

interface Row {
  id: string;
  state: string;
  reason: string | null;
  version: number;
  deadline: number | null;
}

const rowsOf = ({ database }: WalletModel, kind: "ordinary" | "odd") =>
  database.all<Row>(
    `SELECT * FROM (SELECT id, state, reason, 0 AS version, NULL AS deadline FROM payment
       UNION ALL SELECT id, state, reason, version, deadline FROM step)
     WHERE id ${kind === "odd" ? "" : "NOT"} LIKE 'x%' ORDER BY id`,
  );

/** How tasks have ended that nothing but the wallet ends: whether there is time left, the rounds decide. */
const statesOf = (model: WalletModel) =>
  rowsOf(model, "ordinary").flatMap(({ id, state, deadline }) =>
    deadline === null ? [[id, state]] : [],
  );

/** Plays a story, with odd tasks beside its own. @returns in which run each ordinary task was first sent */
async function play(
  story: Story,
  storyActions: readonly StoryAction[],
  odd: readonly OddTask[],
): Promise<ReadonlyMap<string, number>> {
  const sentIn = new Map<string, number>();
  let wallets = 0;
  for (const [i, one] of storyActions.entries()) {
    for (const task of odd) if (task.at % storyActions.length === i) story.model.askOdd(task);
    await story.do(one);
    if (one[0] !== "run") continue;
    wallets++;
    for (const { id, state } of rowsOf(story.model, "ordinary"))
      if (state !== "Asked" && !sentIn.has(id)) sentIn.set(id, wallets);
  }
  return sentIn;
}

/** Lets all pauses pass, and what the wallet waits for become final twice. */
async function settle(model: WalletModel): Promise<void> {
  for (let round = 0; round < 45; round++) {
    model.pass(60_000);
    model.ledger.mine();
    await model.run();
  }
}

/** Odd tasks that do not say why they are not done, or whose record is behind the chain. */
function wronglyShown({ ledger, odd }: WalletModel, rows: readonly Row[]): Row[] {
  return rows.filter(({ id, state, reason, version }) => {
    const task = odd.get(id);
    if (!task) return true;
    const payee = task.work === "payment" ? payeeOf(id) : payeeOfStep({ id, version });
    const paid = ledger.paidTo(payee);
    if (isNeverSent(task)) {
      const isSaid = task.isMute || INTERNAL.test(reason ?? "");
      return paid !== 0 || !isSaid || state === "Done" || state === "UnderWay";
    }
    return state !== "Done" || paid !== 1;
  });
}

describe("a wallet with tasks for which its features' own code throws", () => {
  it.each(["part", "compose"] as const)(
    "puts all others into one transaction, when one throws in its %s",
    async (place) => {
      const { model } = new Story([600]);
      model.askPayment();
      model.askOdd({ work: "payment", place, isMute: false, times: 1, at: 0 });
      for (let i = 0; i < 3; i++) model.askPayment();
      await model.run();
      const sent = await model.transactions();
      expect(sent.map(({ tasks }) => tasks.map(({ id }) => id))).toEqual([
        ["p1", "p2", "p3", "p4"],
      ]);
    },
  );

  it("ends every other task as without them, whatever dies, is lost, late, evicted, undone or overtaken", async () => {
    await fc.assert(
      fc.asyncProperty(outputs, some(storyAction), seed, async (more, storyActions, oddSeed) => {
        const story = new Story([600, ...more]);
        await play(story, storyActions, oddTasksOf(oddSeed));
        const end = await story.end();
        // What held up an odd task is what its last try found.
        if (end.toldWrongly.length > 0) await settle(story.model);
        const { blocker: held } = await story.model.wallet();
        const toldWrongly = end.toldWrongly.filter((one) => one.includes("#") || one === held);
        expect({ ...end, toldWrongly }).toEqual(NOTHING_WRONG);
      }),
      runs(30, 2_000),
    );
  });

  it("sends every other task at most one run later than without them, and says of each why it waits", async () => {
    await fc.assert(
      fc.asyncProperty(outputs, some(calmDeed), seed, async (more, storyActions, oddSeed) => {
        const without = new Story([600, ...more]);
        const expected = await play(without, storyActions, []);
        const ends = await without.end();
        const states = statesOf(without.model);

        const story = new Story([600, ...more]);
        const sentIn = await play(story, storyActions, oddTasksOf(oddSeed));
        const wallets = storyActions.filter(([kind]) => kind === "run").length;
        const later = [...expected].filter(
          ([id, run]) => run < wallets && (sentIn.get(id) ?? Number.POSITIVE_INFINITY) > run + 1,
        );
        expect(later).toEqual([]);
        expect(await story.end()).toEqual(ends);
        expect(statesOf(story.model)).toEqual(states);
        await settle(story.model);
        expect(wronglyShown(story.model, rowsOf(story.model, "odd"))).toEqual([]);
      }),
      runs(20, 2_000),
    );
  });
});
