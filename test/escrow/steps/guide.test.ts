import { expect, it } from "vitest";
import guide from "../../../docs/escrow.md?raw";
import { ON_CHAIN_STATES, PAYMENT_SOURCE_TYPES } from "../../../src/chain/network.ts";
import { ruleOf } from "../../../src/escrow/model/step-rules.ts";
import { isStepPossible } from "../../../src/escrow/model/windows.ts";
import { API_STEPS, type ApiStepName } from "../../../src/escrow/steps/validate-step.ts";

/** A row of the table of calls; one without a call goes on with that of the row before. */
const ROW = /^\| (?:`POST \/(payment|purchase)\/([a-z-]+)`)? ?\| ?(seller|buyer)? ?\| ([^|]+) \|/gm;

/** Those that a cell names for a generation: what follows its name, or stands before it in parentheses, is for it alone. */
function statesIn(cell: string, type: string): string[] {
  const [all = "", ...special] = cell.split(/; on (?=Web3ChainV)/);
  const only = /\((Web3ChainV\d)\)/.exec(all)?.[1];
  const parts = [
    ...(only === undefined || only === type ? [all] : []),
    ...special.filter((part) => part.startsWith(type)),
  ];
  return ON_CHAIN_STATES.filter((state) =>
    parts.some((part) => new RegExp(`\\b${state}\\b`).test(part)),
  );
}

/** The contract allows it once more, and the API answers with the record as it is. */
const isDone = (name: ApiStepName, state: string) =>
  name === "request-refund" && state === "Disputed";

it("docs/escrow.md lists each call with its party and the states in which it is possible", () => {
  const told = new Map<string, Record<string, string[]>>();
  let call = "";
  for (const [, side, name, who, cell = ""] of guide.matchAll(ROW)) {
    if (name !== undefined) call = [side, name, who].join(" ");
    const before = told.get(call) ?? {};
    const states = PAYMENT_SOURCE_TYPES.map((type) => [
      type,
      [...(before[type] ?? []), ...statesIn(cell, type)].sort(),
    ]);
    told.set(call, Object.fromEntries(states));
  }
  const names = Object.keys(API_STEPS) as ApiStepName[];
  const expected = names.map((name) => {
    const { side, steps } = API_STEPS[name];
    const states = PAYMENT_SOURCE_TYPES.map((type) => [
      type,
      ON_CHAIN_STATES.filter(
        (state) => isStepPossible(steps[type], state, type) && !isDone(name, state),
      ).sort(),
    ]);
    const who = ruleOf(steps.Web3ChainV2, "Web3ChainV2")?.signer;
    return [[side, name, who].join(" "), Object.fromEntries(states)];
  });
  expect(Object.fromEntries(told)).toEqual(Object.fromEntries(expected));
});
