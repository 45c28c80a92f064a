import { describe, expect, it } from "vitest";
import { ON_CHAIN_STATES, type OnChainState } from "../../../src/chain/network.ts";
import {
  computeStateAfterSpend,
  findFeePayer,
  lookUpNextAction,
  PAYMENT_ACTIONS,
  PURCHASE_ACTIONS,
} from "../../../src/escrow/model/transitions.ts";
import MATRIX from "../../vectors/transitions.json" with { type: "json" };

type Cell = [action: string, state: OnChainState, next: string, noteKind: string | null];

describe.each([
  ["payment", PAYMENT_ACTIONS, MATRIX.payments as Cell[]],
  ["purchase", PURCHASE_ACTIONS, MATRIX.purchases as Cell[]],
] as const)("next action of a %s", (side, actions, cells) => {
  const decide = (action: string, state: OnChainState) => lookUpNextAction(side, action, state);

  it("the table has a cell for every action in every state", () => {
    const all = actions.flatMap((action) => ON_CHAIN_STATES.map((state) => `${action} ${state}`));
    expect(cells.map(([action, state]) => `${action} ${state}`).sort()).toEqual(all.sort());
  });

  it.each(cells)("%s, when the escrow is %s, becomes %s", (action, state, next, noteKind) => {
    const step = decide(action, state);
    expect(step.action).toBe(next);
    expect(step.error === null).toBe(noteKind === null);
  });

  it("the note is the same for each kind of error, and differs between kinds", () => {
    const pairs = cells.map(([action, state, , kind]) => [kind, decide(action, state).error]);
    const distinct = new Set(pairs.map((pair) => JSON.stringify(pair)));
    expect(distinct.size).toBe(new Set(pairs.map(([kind]) => kind)).size);
    expect(distinct.size).toBe(new Set(pairs.map(([, note]) => note)).size);
  });

  it("each manual decision's note names the action, within 200 characters", () => {
    const steps = cells.map(([action, state]) => decide(action, state));
    const manual = steps.filter(({ action }) => action === "WaitingForManualAction");
    expect(manual.length).toBeGreaterThan(0);
    for (const { error } of manual) {
      expect(error).toMatch(/clear the error/i);
      expect(error?.length).toBeLessThanOrEqual(200);
    }
  });

  it("an unknown action is refused", () => {
    expect(() => decide("Dance", "FundsLocked")).toThrow(RangeError);
  });
});

describe("state after a spend", () => {
  const RESULT = "ab".repeat(32);
  it.each([
    ["a withdrawal ends it", 0, null, true, "Withdrawn"],
    ["a refund request without a result", 1, ["RefundRequested", ""], true, "RefundRequested"],
    ["a refund request against a result", 1, ["Disputed", RESULT], true, "Disputed"],
    ["a refund request taken back", 2, ["FundsLocked", ""], true, "FundsLocked"],
    ["the same with wrong funds", 2, ["FundsLocked", ""], false, "FundsOrDatumInvalid"],
    ["a dispute taken back", 2, ["ResultSubmitted", RESULT], false, "ResultSubmitted"],
    ["redeemer 2 that leaves the dispute", 2, ["Disputed", RESULT], true, "Disputed"],
    ["a withdrawal authorized", 2, ["WithdrawAuthorized", RESULT], true, "WithdrawAuthorized"],
    ["a refund collected", 3, null, true, "RefundWithdrawn"],
    ["a dispute settled", 4, null, true, "DisputedWithdrawn"],
    ["a result", 5, ["ResultSubmitted", RESULT], true, "ResultSubmitted"],
    ["a result after a refund request", 5, ["Disputed", RESULT], true, "Disputed"],
    ["a result that leaves the request", 5, ["RefundRequested", RESULT], true, "Disputed"],
    ["a refund authorized on V1", 6, ["RefundRequested", ""], true, "RefundRequested"],
    ["a refund authorized on V2", 6, ["RefundAuthorized", ""], true, "RefundAuthorized"],
    ["a redeemer of no contract", 7, ["FundsLocked", ""], true, null],
    ["a step that nothing continues", 5, null, true, null],
  ] as [string, number, [OnChainState, string] | null, boolean, OnChainState | null][])(
    "%s",
    (_, redeemer, next, amountsMatch, state) => {
      const datum = next && { state: next[0], resultHash: next[1] };
      expect(computeStateAfterSpend(redeemer, datum, amountsMatch)).toBe(state);
    },
  );
});

describe("fee payer", () => {
  it("is the party that acts, and nobody when an admin does", () => {
    const payers = [0, 1, 2, 3, 4, 5, 6, 7].map(findFeePayer);
    expect(payers).toEqual(["seller", "buyer", "buyer", "buyer", null, "seller", "seller", null]);
  });
});
