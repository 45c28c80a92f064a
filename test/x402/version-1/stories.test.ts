/** Stories of payments that resource servers send in version 1. */
import { describe } from "vitest";
import { FAULT_STORIES } from "../fault-stories.ts";
import { sendInVersion } from "../settlement-fixture.ts";

sendInVersion(1);

describe.each(FAULT_STORIES)("in version 1,", async (load) => {
  await load();
});
