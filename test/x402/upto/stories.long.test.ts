/** More stories of payments of the scheme `upto`. */
import { describe } from "vitest";
import { sendInScheme } from "../settlement-fixture.ts";

sendInScheme("upto");

describe.each([
  ["answers", () => import("../settle/faults/answers.long.test.ts")],
  ["eviction", () => import("../settle/faults/eviction.long.test.ts")],
  ["odd nodes", () => import("../settle/faults/odd-node.test.ts")],
  ["reorganizations", () => import("../settle/faults/reorg.long.test.ts")],
  ["transactions", () => import("../settle/faults/transaction.long.test.ts")],
  ["wallets", () => import("../settle/faults/wallet.long.test.ts")],
])("by upto, %s:", async (_, load) => {
  await load();
});
