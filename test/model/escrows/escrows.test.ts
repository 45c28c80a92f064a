import fc from "fast-check";
import { describe, expect, it, vi } from "vitest";
import type { PaymentSourceType } from "../../../src/chain/network.ts";
import { runs } from "../../support/effort.ts";
import { sameEachTime } from "../same-each-time.ts";
import { endOf, STORIES } from "./stories.ts";
import type { StoryAction } from "./story-actions.ts";

const NOTHING_WRONG = {
  notEnded: [],
  lockedTwice: [],
  forgotten: [],
  foundOtherwise: [],
  wrongActions: [],
  wrongCharges: [],
  wrongEvents: [],
  findLostIntents: [],
  askedInVain: [],
  unsettled: [],
  tasks: [],
  settledOtherwise: [],
  paidOtherwise: [],
  paidToNobody: [],
  left: [],
  wronglyMarked: [],
};

function storyActions(...all: StoryAction[]): readonly StoryAction[] {
  return all;
}

const beginIds = sameEachTime();

/** Stories that went wrong once, each with what was wrong. */
const FOUND: readonly (readonly [what: string, PaymentSourceType, readonly StoryAction[]])[] = [
  [
    "a lock and its refund that end at once, of which the wallet could write neither",
    "Web3ChainV1",
    [
      ...storyActions(["request", 862], ["round", 744], ["round", 377], ["deadline", 732]),
      ...storyActions(["round", 944], ["rollback", 647]),
    ],
  ],
  [
    "a lock whose end the wallet saw before the sync did, and which stayed under way for ever",
    "Web3ChainV1",
    [
      ...storyActions(["request", 473], ["round", 994], ["round", 435], ["request", 216]),
      ...storyActions(["deadline", 96], ["round", 180], ["round", 536], ["rollback", 496]),
    ],
  ],
  [
    "a refund by itself of a lock made elsewhere, which waited for ever for the lock to return",
    "Web3ChainV2",
    storyActions(["lockByHand", 1020], ["days", 771], ["round", 139], ["rollback", 644]),
  ],
  [
    "a step that waited for ever for a lock made elsewhere to return",
    "Web3ChainV2",
    [
      ...storyActions(["request", 316], ["request", 690], ["round", 986], ["round", 544]),
      ...storyActions(["rollback", 356], ["ask", 922], ["request", 107], ["deadline", 969]),
    ],
  ],
  [
    "a lock that a restored database forgot, and whose purchase was over before the wallet learnt of it",
    "Web3ChainV2",
    [
      ...storyActions(["request", 1012], ["round", 516], ["request", 747], ["save", 502]),
      ...storyActions(["round", 772], ["restore", 808], ["deadline", 457]),
    ],
  ],
  [
    "a lock that a restored database forgot, and that landed beside one made elsewhere before",
    "Web3ChainV2",
    storyActions(["request", 981], ["round", 646], ["lockByHand", 168], ["restore", 321]),
  ],
  [
    "a lock that a restored database forgot, and that landed beside one made elsewhere since",
    "Web3ChainV2",
    storyActions(["request", 698], ["round", 24], ["restore", 885], ["lockByHand", 230]),
  ],
  [
    "a lock that was rolled back while a refund was asked for, and returned after one made elsewhere",
    "Web3ChainV2",
    [
      ...storyActions(["request", 321], ["request", 672], ["round", 770], ["round", 815]),
      ...storyActions(["ask", 981], ["rollback", 515], ["lockByHand", 72]),
    ],
  ],
  [
    "a lock of a purchase that was given up, rolled back for good, which was wanted anew",
    "Web3ChainV2",
    [
      ...storyActions(["request", 141], ["round", 328], ["cancel", 714], ["request", 773]),
      ...storyActions(["round", 6], ["round", 205], ["deadline", 871], ["rollback", 508]),
    ],
  ],
  [
    "a step without a deadline that waited for ever for a state that a rollback had taken back",
    "Web3ChainV1",
    [
      ...storyActions(["request", 628], ["round", 582], ["round", 400], ["ask", 127]),
      ...storyActions(["stepByHand", 1012], ["sync", 282], ["rollback", 67], ["ask", 373]),
    ],
  ],
  [
    "a lock that was rolled back with the refund that came by itself, and was not wanted any more",
    "Web3ChainV2",
    [
      ...storyActions(["request", 287], ["round", 134], ["round", 2], ["deadline", 106]),
      ...storyActions(["rollback", 345], ["round", 486], ["round", 405]),
    ],
  ],
  [
    "a lock that a restored database forgot, and that was shown after its purchase had expired",
    "Web3ChainV2",
    [
      ...storyActions(["request", 532], ["wait", 463], ["forget", 611], ["deadline", 979]),
      ...storyActions(["lag", 562], ["round", 794]),
    ],
  ],
  [
    "a signed settlement of an escrow that was moved elsewhere, which waited for ever for its output",
    "Web3ChainV2",
    storyActions(["dispute", 104], ["stepByHand", 963], ["propose", 462]),
  ],
  [
    "a step that was rolled back, whose script the model then had fail, though it had passed",
    "Web3ChainV2",
    storyActions(["dispute", 720], ["rollback", 54], ["failScript", 713]),
  ],
  [
    "a refund asked for of a purchase that was given up, whose lock was rolled back and came again",
    "Web3ChainV2",
    [
      ...storyActions(["failingCalls", 587], ["request", 936], ["round", 627], ["round", 276]),
      ...storyActions(["round", 265], ["cancel", 801], ["dispute", 14], ["rollback", 228]),
      ...storyActions(["dispute", 396]),
    ],
  ],
  [
    "a purchase whose lock was rolled back for good, and whose error a person cleared",
    "Web3ChainV2",
    [
      ...storyActions(
        ["mine", 8],
        ["mine", 782],
        ["dispute", 47],
        ["round", 783],
        ["rollback", 708],
      ),
      ...storyActions(["deadline", 833], ["round", 165], ["round", 723], ["rollback", 794]),
      ...storyActions(["dispute", 1001], ["round", 28], ["recover", 479]),
    ],
  ],
  [
    "a charge that is given back once a refused refund of its lost lock can land no more",
    "Web3ChainV2",
    [
      ...storyActions(["request", 796], ["round", 882], ["round", 71], ["days", 100]),
      ...storyActions(["stepByHand", 627], ["round", 178], ["rollback", 172]),
    ],
  ],
  [
    "a lock of something else, which was rolled back, and of which its quote knew all the same",
    "Web3ChainV1",
    storyActions(["request", 7], ["lockByHand", 10], ["round", 0], ["rollback", 7]),
  ],
  [
    "an added wallet's past that a late node showed as it was before a rollback, from which no pass got on",
    "Web3ChainV2",
    [
      ...storyActions(["deliver", 7], ["toggle", 861], ["request", 732], ["stale", 767]),
      ...storyActions(["request", 542], ["mine", 993], ["toggle", 605], ["rollback", 827]),
      ...storyActions(
        ["lockOddly", 392],
        ["deadline", 856],
        ["round", 591],
        ["forget", 710],
        ["round", 702],
      ),
    ],
  ],
  [
    "a result and a dispute that are final when all ends, of which the undo data is deleted",
    "Web3ChainV1",
    [
      ...storyActions(["dispute", 0], ["shelf", 0], ["lockByHand", 0], ["round", 0]),
      ...storyActions(["propose", 0], ["deadline", 0], ["rollback", 5], ["round", 0]),
    ],
  ],
];

function play(
  type: PaymentSourceType,
  funds: { seller: number[]; buyer: number[] },
  story: readonly StoryAction[],
) {
  beginIds();
  return endOf(type, funds, story, vi.setSystemTime);
}

describe("escrows between a buyer and a seller", () => {
  it.each(FOUND)("come to their end: %s", async (_, type, story) => {
    const funds = { seller: [], buyer: [] };
    expect(await play(type, funds, story)).toEqual(NOTHING_WRONG);
  });

  it("come to their end, whatever dies, is lost, late, undone, or done by others", async () => {
    await fc.assert(
      fc.asyncProperty(STORIES, async (story) => {
        expect(await play(...story)).toEqual(NOTHING_WRONG);
      }),
      runs(60, 6_000),
    );
  });
});
