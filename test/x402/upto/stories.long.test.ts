/** More stories of payments of the scheme `upto`. */
import { describe } from "vitest";
import { LONG_FAULT_STORIES } from "../fault-stories.ts";
import { sendInScheme } from "../settlement-fixture.ts";

sendInScheme("upto");

describe.each(LONG_FAULT_STORIES)("by upto, %s:", async (_, load) => {
  await load();
});
