import { expect, it } from "vitest";
import { IDLE_PROGRESS, type Intent } from "../../../src/escrow/model/intent.ts";
import { endIntent, retryIntent } from "../../../src/escrow/tasks/retry-intent.ts";

const INTENT: Intent = {
  id: "intent",
  step: "SubmitResult",
  resultHash: null,
  by: "key",
  since: 1,
};

it("An ended intent stays with its error, so that a person can retry the step", () => {
  const progress = endIntent({ ...IDLE_PROGRESS, intent: INTENT }, "the window has closed");
  expect(progress).toMatchObject({ intent: null, error: { endedIntent: INTENT } });
});

it("The tenth failed try ends a requested step, and the error has the intent", () => {
  let progress = { ...IDLE_PROGRESS, intent: INTENT };
  for (let tries = 0; tries < 9; tries++)
    progress = { ...progress, ...retryIntent(progress, "refused", 0) } as typeof progress;
  expect(progress.intent).toMatchObject({ id: "intent", failures: 9 });
  expect(retryIntent(progress, "refused", 0)).toMatchObject({
    intent: null,
    error: { endedIntent: { id: "intent" } },
  });
});
