import fc from "fast-check";
import { beforeAll, describe, expect, it, vi } from "vitest";
import { runs } from "../support/effort.ts";
import { STORY_ACTIONS, Story, type StoryAction } from "./story.ts";

beforeAll(() => {
  for (const level of ["info", "warn", "error"] as const)
    vi.spyOn(console, level).mockImplementation(() => {});
});

const storyAction = fc.tuple(
  fc.constantFrom(...STORY_ACTIONS),
  fc.nat(1023),
) satisfies fc.Arbitrary<StoryAction>;
const outputs = fc.array(fc.integer({ min: 1, max: 400 }), { maxLength: 6 });

describe("a wallet that pays and takes steps", () => {
  it("completes every task once, through crashes, lost and late answers, evictions, rollbacks and conflicting spends", async () => {
    await fc.assert(
      fc.asyncProperty(
        outputs,
        fc.array(storyAction, { minLength: 5, maxLength: 30 }),
        async (more, storyActions) => {
          const story = new Story([600, ...more]);
          for (const one of storyActions) await story.do(one);
          expect(await story.end()).toEqual({
            notDone: [],
            paidWrongly: [],
            paidTwice: [],
            wrongSteps: [],
            toldWrongly: [],
          });
        },
      ),
      runs(100, 60_000),
    );
  });
});
