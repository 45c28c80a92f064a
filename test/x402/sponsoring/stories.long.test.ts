/** More stories of payers who approve Permit2 by a permit alone. */
import { describe } from "vitest";
import { LONG_FAULT_STORIES } from "../fault-stories.ts";
import { sendWithPermits } from "../settlement-fixture.ts";

sendWithPermits();

describe.each(LONG_FAULT_STORIES)("with a permit, %s:", async (_, load) => {
  await load();
});
