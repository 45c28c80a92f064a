/** Stories of payments of the scheme `upto`. */
import { describe } from "vitest";
import { sendInScheme } from "../settlement-fixture.ts";

sendInScheme("upto");

describe("by upto,", async () => {
  await import("../settle/faults/node.test.ts");
});
describe("by upto,", async () => {
  await import("../settle/faults/database.test.ts");
});
describe("by upto,", async () => {
  await import("../settle/joins.test.ts");
});
