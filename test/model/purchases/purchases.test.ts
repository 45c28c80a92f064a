import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { runs } from "../../support/effort.ts";
import { sameEachTime } from "../same-each-time.ts";
import { KEYS } from "./keys.ts";
import { PAYERS, QUOTES } from "./quotes.ts";
import { PurchaseStory, STORY_ACTIONS, type StoryAction } from "./story.ts";

sameEachTime();

const storyAction = fc.tuple(
  fc.constantFrom(...STORY_ACTIONS),
  fc.nat(KEYS * QUOTES - 1),
) satisfies fc.Arbitrary<StoryAction>;
const outputs = fc.array(fc.integer({ min: 20, max: 200 }), { minLength: 1, maxLength: 3 });

const NOTHING_WRONG = {
  notOver: [],
  lockedTwice: [],
  wronglyTold: [],
  wronglyCharged: [],
  wrongAccounts: [],
  needlessHalts: 0,
};

const ALL_RUN: readonly StoryAction[] = [...PAYERS.keys()].map((n) => ["run", n]);

/** A database that was set back forgets a lock, whose purchase is given up, and given back, before it lands. */
const FORGOTTEN: readonly StoryAction[] = [
  ["buy", 0],
  ["save", 0],
  ...ALL_RUN,
  ["wait", 1],
  ...ALL_RUN,
  ["restore", 0],
  ["cancel", 0],
];
const UNDONE: readonly StoryAction[] = [
  ["mine", 0],
  ["follow", 0],
  ["rollback", 3],
];

async function endOf(
  funds: ConstructorParameters<typeof PurchaseStory>[0],
  storyActions: readonly StoryAction[],
) {
  const story = new PurchaseStory(funds);
  for (const one of storyActions) await story.do(one);
  return story.end();
}

describe("purchases of twenty keys with limits over three wallets", () => {
  it.each([
    ["it is given up before", FORGOTTEN],
    ["it is undone then", [...FORGOTTEN, ...UNDONE]],
  ] as const)("are charged again when a forgotten lock lands, and %s", async (_, storyActions) => {
    expect(await endOf([[100], [100], [100]], storyActions)).toEqual(NOTHING_WRONG);
  });

  it("are locked once or given back, whatever dies, is lost, late, undone or set back", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.tuple(outputs, outputs, outputs),
        fc.array(storyAction, { minLength: 10, maxLength: 50 }),
        async (funds, storyActions) => {
          expect(await endOf(funds, storyActions)).toEqual(NOTHING_WRONG);
        },
      ),
      runs(20, 1_500),
    );
  });
});
