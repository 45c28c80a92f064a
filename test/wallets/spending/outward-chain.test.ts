import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isActive, isOpen } from "../../../src/wallets/model/phases.ts";
import { toTaskKey } from "../../../src/wallets/model/wallet-transaction.ts";
import {
  findChainHead,
  findOutwardPosition,
} from "../../../src/wallets/spending/model/outward-chain.ts";
import { runs } from "../../support/effort.ts";
import {
  OutwardChainModel,
  type Rule,
  STORY_ACTIONS,
  type StoryAction,
} from "./outward-chain-model.ts";
import { transaction } from "./transactions.ts";

const storyAction = fc.tuple(
  fc.constantFrom(...STORY_ACTIONS),
  fc.nat(1023),
) satisfies fc.Arbitrary<StoryAction>;
const story = fc.record({
  storyActions: fc.array(storyAction, { minLength: 20, maxLength: 90 }),
  orders: fc.array(fc.nat(), { minLength: 6, maxLength: 6 }),
});

/** No task twice, in whatever order lands what can land, at the end of any story. */
function never(rule: Rule) {
  return fc.property(story, ({ storyActions, orders }) => {
    const model = new OutwardChainModel(rule);
    for (const one of storyActions) model.do(one);
    for (const order of orders) expect(model.doneTwice(order)).toEqual([]);
  });
}

/** The rule as one might have it: the new transaction spends an output that the former one spends. */
const sharesAnInput: Rule = (tasks, root, transactions) => {
  const former = transactions
    .filter((one) => one.tasks.some((task) => tasks.includes(toTaskKey(task))))
    .at(-1);
  const taken = new Set(
    transactions.flatMap(({ phase, inputs }) => (isActive(phase) ? inputs : [])),
  );
  const shared = former && isOpen(former.phase) && former.inputs.findLast((one) => !taken.has(one));
  return { output: shared || findChainHead(root, transactions) };
};

describe("the outward chain", () => {
  it("does no task twice, whatever is refused, expires, is lost, undone or restored, and lands later", () => {
    fc.assert(never(findOutwardPosition), runs(2_000, 100_000));
  });

  it("has no position for a task whose transaction is on its way", () => {
    const tasks = [{ feature: "pay", id: "1", detail: {} }];
    const sent = transaction("sent", [], { tasks, chainedInput: "root", changeOutput: "next" });
    expect(findOutwardPosition(["pay:1"], "root", [sent])).toEqual({ waitsFor: "itself" });
    expect(findOutwardPosition(["pay:2"], "root", [sent])).toEqual({ output: "next" });
  });

  it("needs the whole rule: an output shared with the former transaction is not enough", () => {
    expect(
      fc.check(never(sharesAnInput), { ...runs(3_000, 3_000), endOnFailure: true }).failed,
    ).toBe(true);
  });
});
