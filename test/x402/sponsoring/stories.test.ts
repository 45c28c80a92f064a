/** Stories of payers who approve Permit2 by a permit alone. */
import { describe } from "vitest";
import { sendWithPermits } from "../settlement-fixture.ts";

sendWithPermits();

describe("with a permit,", async () => {
  await import("../settle/faults/node.test.ts");
});
describe("with a permit,", async () => {
  await import("../settle/faults/database.test.ts");
});
describe("with a permit,", async () => {
  await import("../settle/joins.test.ts");
});
