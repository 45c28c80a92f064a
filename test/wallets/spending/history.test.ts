import { expect, it } from "vitest";
import { applyEvents } from "../../../src/wallets/spending/model/apply-events.ts";
import { transaction } from "./transactions.ts";

it("of what a node says of a transaction, what is kept is short", () => {
  const error = `the network refused the transaction: ${"x".repeat(1_000_000)}`;
  const refused = { hash: "a", event: "Refused", facts: { error } } as const;
  const { transactions, updates } = applyEvents([transaction("a", ["x#0"])], [refused], 1);
  expect(transactions[0]).toMatchObject({ phase: "Refused", error: error.slice(0, 1_000) });
  expect(updates).toEqual([]);
});
