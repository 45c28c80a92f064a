import { beforeEach, describe, expect, it } from "vitest";
import type { PaymentSourceType } from "../../../src/chain/network.ts";
import { FINAL_CANCEL_WARNING } from "../../../src/escrow/steps/routes.ts";
import { API_STEPS, type ApiStepName } from "../../../src/escrow/steps/validate-step.ts";
import { emptyTables } from "../../support/app.ts";
import { sampled } from "../../support/effort.ts";
import { StepFixture } from "../../support/escrow/step-fixture.ts";

beforeEach(emptyTables);

const HOUR = 60 * 60_000;

/** A step with the state it leads to, or how long is waited before the next, in milliseconds. */
type EscrowStory = readonly (readonly [ApiStepName, string] | number)[];

const COOLDOWN = HOUR / 2;

const ESCROW_STORIES: readonly [PaymentSourceType, EscrowStory][] = [
  [
    "Web3ChainV1",
    [
      ["submit-result", "ResultSubmitted"],
      ["request-refund", "Disputed"],
      COOLDOWN,
      ["cancel-refund-request", "ResultSubmitted"],
      COOLDOWN,
      ["request-refund", "Disputed"],
      ["authorize-refund", "RefundRequested"],
      3 * HOUR,
      ["withdraw-refund", "RefundWithdrawn"],
    ],
  ],
  [
    "Web3ChainV1",
    [
      ["request-refund", "RefundRequested"],
      COOLDOWN,
      ["cancel-refund-request", "FundsLocked"],
      ["submit-result", "ResultSubmitted"],
      24 * HOUR,
      ["withdraw", "Withdrawn"],
    ],
  ],
  [
    "Web3ChainV2",
    [
      ["submit-result", "ResultSubmitted"],
      ["request-refund", "Disputed"],
      COOLDOWN,
      ["cancel-refund-request", "WithdrawAuthorized"],
      ["withdraw", "Withdrawn"],
    ],
  ],
  [
    "Web3ChainV2",
    [
      ["request-refund", "RefundRequested"],
      ["submit-result", "Disputed"],
      COOLDOWN,
      ["authorize-refund", "RefundAuthorized"],
      ["withdraw-refund", "RefundWithdrawn"],
    ],
  ],
];

describe("an escrow, one step asked for after the other", () => {
  it.each(sampled(2, ESCROW_STORIES))(
    "reaches the state that each step leads to (%s)",
    async (type, life) => {
      const fixture = await StepFixture.open(type);
      for (const step of life) {
        if (typeof step === "number") {
          await fixture.later(step);
          continue;
        }
        const [name, state] = step;
        const { status, message, data } = await fixture.ask(name);
        expect([name, status, message]).toEqual([name, 200, ""]);
        if (name === "cancel-refund-request")
          expect(data.Warnings).toEqual(type === "Web3ChainV2" ? [FINAL_CANCEL_WARNING] : []);
        await fixture.act(API_STEPS[name].side);
        expect([name, await fixture.state()]).toEqual([name, state]);
        expect((await fixture.ask(name)).status).toBe(200);
      }
    },
  );
});
