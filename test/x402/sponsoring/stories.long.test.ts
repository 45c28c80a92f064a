/** More stories of payers who approve Permit2 by a permit alone. */
import { describe } from "vitest";
import { sendWithPermits } from "../settlement-fixture.ts";

sendWithPermits();

describe.each([
  ["answers", () => import("../settle/faults/answers.long.test.ts")],
  ["eviction", () => import("../settle/faults/eviction.long.test.ts")],
  ["odd nodes", () => import("../settle/faults/odd-node.test.ts")],
  ["reorganizations", () => import("../settle/faults/reorg.long.test.ts")],
  ["transactions", () => import("../settle/faults/transaction.long.test.ts")],
  ["wallets", () => import("../settle/faults/wallet.long.test.ts")],
])("with a permit, %s:", async (_, load) => {
  await load();
});
