/** More stories of payments that resource servers send in version 1. */
import { describe } from "vitest";
import { LONG_FAULT_STORIES } from "../fault-stories.ts";
import { sendInVersion } from "../settlement-fixture.ts";

sendInVersion(1);

describe.each([
  ...LONG_FAULT_STORIES,
  ["another facilitator", () => import("../settle/remote/remote-facilitator.long.test.ts")],
] as const)("in version 1, %s:", async (_, load) => {
  await load();
});
