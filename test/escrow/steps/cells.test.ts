import { beforeEach, describe, expect, it } from "vitest";
import type { OnChainState, PaymentSourceType } from "../../../src/chain/network.ts";
import { IDLE_PROGRESS } from "../../../src/escrow/model/intent.ts";
import { API_STEPS, type ApiStepName } from "../../../src/escrow/steps/validate-step.ts";
import { emptyTables } from "../../support/app.ts";
import { StepFixture } from "../../support/escrow/step-fixture.ts";

beforeEach(emptyTables);

const HOUR = 60 * 60_000;
const NAMES = Object.keys(API_STEPS) as ApiStepName[];

/** Where a step is taken, and where nothing is left to do; elsewhere it is refused. */
type Cells = Record<ApiStepName, { taken: string; same: string }>;

const cell = (taken: string, same = "") => ({ taken, same });

const V1: Cells = {
  "submit-result": cell("FundsLocked RefundRequested ResultSubmitted Disputed"),
  "authorize-refund": cell("Disputed"),
  withdraw: cell("", "Withdrawn"),
  "request-refund": cell("FundsLocked ResultSubmitted", "RefundRequested Disputed"),
  "cancel-refund-request": cell("RefundRequested Disputed"),
  "withdraw-refund": cell("", "RefundWithdrawn"),
};
const V2: Cells = {
  ...V1,
  "authorize-refund": cell(
    "FundsLocked ResultSubmitted RefundRequested Disputed",
    "RefundAuthorized",
  ),
  withdraw: cell("WithdrawAuthorized", "Withdrawn"),
  "cancel-refund-request": cell("Disputed", "WithdrawAuthorized"),
  "withdraw-refund": cell("RefundAuthorized", "RefundWithdrawn"),
};
const AFTER_UNLOCK = {
  "submit-result": cell("ResultSubmitted Disputed"),
  "request-refund": cell("", "RefundRequested Disputed"),
};
const ESCROW_STORIES: [PaymentSourceType, "before" | "after", Cells][] = [
  ["Web3ChainV1", "before", V1],
  [
    "Web3ChainV1",
    "after",
    {
      ...V1,
      ...AFTER_UNLOCK,
      withdraw: cell("ResultSubmitted", "Withdrawn"),
      "withdraw-refund": cell("FundsLocked RefundRequested", "RefundWithdrawn"),
    },
  ],
  ["Web3ChainV2", "before", V2],
  [
    "Web3ChainV2",
    "after",
    {
      ...V2,
      ...AFTER_UNLOCK,
      withdraw: cell("ResultSubmitted WithdrawAuthorized", "Withdrawn"),
      "withdraw-refund": cell("FundsLocked RefundRequested RefundAuthorized", "RefundWithdrawn"),
    },
  ],
];

const STATES: (OnChainState | null)[] = [
  null,
  "FundsLocked",
  "FundsOrDatumInvalid",
  "ResultSubmitted",
  "RefundRequested",
  "Disputed",
  "WithdrawAuthorized",
  "RefundAuthorized",
  "Withdrawn",
  "RefundWithdrawn",
  "DisputedWithdrawn",
];
const ONLY_V2 = ["WithdrawAuthorized", "RefundAuthorized"];
const WITH_RESULT = ["ResultSubmitted", "Disputed", "WithdrawAuthorized", "Withdrawn"];

/** Times of an escrow of which the submit time, and the unlock time, is so far ahead. */
function times(submitIn: number, unlockIn: number) {
  const at = (ms: number) => String(Date.now() + ms);
  return {
    submitResultTime: at(submitIn),
    unlockTime: at(unlockIn),
    externalDisputeUnlockTime: at(unlockIn + 2 * HOUR),
  };
}

const TIMES = {
  before: () => times(HOUR, 2 * HOUR),
  after: () => times(-2 * HOUR, -HOUR),
};

/** What became of a step that was asked for in each state. */
async function outcomes(fixture: StepFixture, type: PaymentSourceType, when: keyof typeof TIMES) {
  const shown = STATES.filter((one) => type === "Web3ChainV2" || !ONLY_V2.includes(one ?? ""));
  const found: Record<string, string> = {};
  for (const onChainState of shown)
    for (const name of NAMES) {
      const { side, steps } = API_STEPS[name];
      const resultHash = WITH_RESULT.includes(onChainState ?? "") ? "cd".repeat(32) : "";
      const state = { onChainState, resultHash, transaction: null };
      await fixture.put(side, { state, terms: TIMES[when](), progress: IDLE_PROGRESS });
      const { status, data } = await fixture.ask(name);
      const isTaken = data?.NextAction.requestedAction === `${steps[type]}Requested`;
      const outcome = isTaken ? "taken" : "same";
      found[`${when} ${name} ${onChainState}`] = status === 200 ? outcome : String(status);
    }
  return found;
}

/** The same, as the table says. */
function expected(found: Record<string, string>, cells: Cells) {
  return Object.fromEntries(
    Object.keys(found).map((key) => {
      const [, name, state = ""] = key.split(" ");
      const { taken, same } = cells[name as ApiStepName];
      const is = (states: string) => states.split(" ").includes(state);
      return [key, is(taken) ? "taken" : is(same) ? "same" : "409"];
    }),
  );
}

describe("POST /payment/… and /purchase/…, asked for a step", () => {
  it.each(["Web3ChainV1", "Web3ChainV2"] as const)(
    "take it in the states, and at the times, in which %s allows it",
    async (type) => {
      const fixture = await StepFixture.open(type);
      for (const [, when, cells] of ESCROW_STORIES.filter(([one]) => one === type)) {
        const found = await outcomes(fixture, type, when);
        expect(found).toEqual(expected(found, cells));
      }
    },
  );
});
