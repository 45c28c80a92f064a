/** Stories of payers who approve Permit2 by a permit alone. */
import { describe } from "vitest";
import { FAULT_STORIES } from "../fault-stories.ts";
import { sendWithPermits } from "../settlement-fixture.ts";

sendWithPermits();

describe.each(FAULT_STORIES)("with a permit,", async (load) => {
  await load();
});
