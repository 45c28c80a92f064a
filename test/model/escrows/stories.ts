/** Stories by chance. */
import fc from "fast-check";
import { PAYMENT_SOURCE_TYPES, type PaymentSourceType } from "../../../src/chain/network.ts";
import { Story } from "./story.ts";
import { STORY_ACTIONS, type StoryAction } from "./story-actions.ts";
import type { Party } from "./terms.ts";

const nat = fc.nat(1023);

function deedsBy(weights: Readonly<Record<StoryAction[0], number>>): fc.Arbitrary<StoryAction> {
  const kinds = Object.entries(weights).map(([kind, weight]) => ({
    weight,
    arbitrary: fc.constant(kind as StoryAction[0]),
  }));
  return fc.tuple(fc.oneof(...kinds), nat);
}

const anyDeeds = fc.array(deedsBy(STORY_ACTIONS), { minLength: 5, maxLength: 40, size: "max" });
/** One that begins with a dispute, which administrators settle more often. */
const aboutADispute = fc
  .tuple(
    fc.constantFrom(0, 7),
    nat,
    fc.array(
      deedsBy({
        ...STORY_ACTIONS,
        propose: 20,
        sign: 10,
        withdraw: 4,
        settleByHand: 6,
        deadline: 20,
        rollback: 8,
      }),
      { minLength: 3, maxLength: 20, size: "max" },
    ),
  )
  .map(([shelf, n, storyActions]): StoryAction[] => [
    ["shelf", shelf],
    ["dispute", n],
    ...storyActions,
  ]);

const someDeeds = fc.array(deedsBy(STORY_ACTIONS), { minLength: 3, maxLength: 25, size: "max" });
/** One that begins with a sale for tokens, which the buyer has: with a result, or without. */
const aboutTokens = fc
  .tuple(fc.constantFrom("deliver", "request"), nat, someDeeds)
  .map(([kind, n, storyActions]): StoryAction[] => [["shelf", 0], [kind, n], ...storyActions]);

/** One in which a party's wallet is removed while a lock of it is on its way, or has just landed. */
const aboutARemoval = fc
  .tuple(nat, fc.nat(1), someDeeds)
  .map(([n, party, storyActions]): StoryAction[] => [
    ...([
      ["request", n],
      ["wait", 1],
      ["run", 3],
      ["toggle", party],
      ...storyActions,
    ] satisfies StoryAction[]),
  ]);

const funds = fc.array(fc.integer({ min: 1, max: 400 }), { maxLength: 4 });

/** The contract, outputs of each wallet beside one that is enough, in coins of a million, and what happens. */
export const STORIES = fc.tuple(
  fc.constantFrom(...PAYMENT_SOURCE_TYPES),
  fc.record({ seller: funds, buyer: funds }),
  fc.oneof(
    { weight: 4, arbitrary: anyDeeds },
    { weight: 1, arbitrary: aboutADispute },
    { weight: 1, arbitrary: aboutTokens },
    { weight: 1, arbitrary: aboutARemoval },
  ),
);

/** Plays a story. @returns what is wrong at its end */
export async function endOf(
  type: PaymentSourceType,
  { seller, buyer }: Record<Party, readonly number[]>,
  storyActions: readonly StoryAction[],
  setTime: (now: number) => void,
) {
  const played = new Story(type, { seller: [300, ...seller], buyer: [300, ...buyer] }, setTime);
  for (const one of storyActions) await played.do(one);
  return played.end();
}
