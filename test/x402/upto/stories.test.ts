/** Stories of payments of the scheme `upto`. */
import { describe } from "vitest";
import { FAULT_STORIES } from "../fault-stories.ts";
import { sendInScheme } from "../settlement-fixture.ts";

sendInScheme("upto");

describe.each(FAULT_STORIES)("by upto,", async (load) => {
  await load();
});
