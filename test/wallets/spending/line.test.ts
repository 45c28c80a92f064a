import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isLiving, isOpen } from "../../../src/wallets/spending/life.ts";
import { headOf, standFor } from "../../../src/wallets/spending/line.ts";
import { taskKey } from "../../../src/wallets/spending/transaction.ts";
import { runs } from "../../support/effort.ts";
import { DEEDS, type Deed, LineWorld, type Rule } from "./line-world.ts";

const deed = fc.tuple(fc.constantFrom(...DEEDS), fc.nat(1023)) satisfies fc.Arbitrary<Deed>;
const story = fc.record({
  deeds: fc.array(deed, { minLength: 20, maxLength: 90 }),
  orders: fc.array(fc.nat(), { minLength: 6, maxLength: 6 }),
});

/** No task twice, in whatever order lands what can land, at the end of any story. */
function never(rule: Rule) {
  return fc.property(story, ({ deeds, orders }) => {
    const world = new LineWorld(rule);
    for (const one of deeds) world.do(one);
    for (const order of orders) expect(world.doneTwice(order)).toEqual([]);
  });
}

/** The rule as one might have it: the new transaction spends an output that the former one spends. */
const sharesAnInput: Rule = (tasks, root, transactions) => {
  const former = transactions
    .filter((one) => one.tasks.some((task) => tasks.includes(taskKey(task))))
    .at(-1);
  const taken = new Set(
    transactions.flatMap(({ phase, inputs }) => (isLiving(phase) ? inputs : [])),
  );
  const shared = former && isOpen(former.phase) && former.inputs.findLast((one) => !taken.has(one));
  return { on: shared || headOf(root, transactions) };
};

describe("the outward line", () => {
  it("does no task twice, whatever is refused, expires, is lost, undone or restored, and lands later", () => {
    fc.assert(never(standFor), runs(2_000, 100_000));
  });

  it("needs the whole rule: an output shared with the former transaction is not enough", () => {
    expect(
      fc.check(never(sharesAnInput), { ...runs(3_000, 3_000), endOnFailure: true }).failed,
    ).toBe(true);
  });
});
