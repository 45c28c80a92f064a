/** Stories of payments that resource servers send in version 1. */
import { describe } from "vitest";
import { sendInVersion } from "../settlement-fixture.ts";

sendInVersion(1);

describe("in version 1,", async () => {
  await import("../settle/faults/node.test.ts");
});
describe("in version 1,", async () => {
  await import("../settle/faults/database.test.ts");
});
describe("in version 1,", async () => {
  await import("../settle/joins.test.ts");
});
