/** More stories of payments that resource servers send in version 1. */
import { describe } from "vitest";
import { sendInVersion } from "../settlement-fixture.ts";

sendInVersion(1);

describe.each([
  ["answers", () => import("../settle/faults/answers.long.test.ts")],
  ["another facilitator", () => import("../settle/remote/remote-facilitator.long.test.ts")],
  ["eviction", () => import("../settle/faults/eviction.long.test.ts")],
  ["odd nodes", () => import("../settle/faults/odd-node.test.ts")],
  ["reorganizations", () => import("../settle/faults/reorg.long.test.ts")],
  ["transactions", () => import("../settle/faults/transaction.long.test.ts")],
  ["wallets", () => import("../settle/faults/wallet.long.test.ts")],
])("in version 1, %s:", async (_, load) => {
  await load();
});
