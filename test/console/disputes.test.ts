/** How the console lists disputes. */
import { expect, test } from "vitest";
import { describeDispute, listEscrowsOnce } from "../../console/pages/disputes/disputes.ts";

const rowOf = (id: string, kind: string, blockchainIdentifier: string) => ({
  id,
  kind,
  blockchainIdentifier,
});

test("an escrow between two managed wallets is listed once, as its purchase", () => {
  const [bought, sold, other] = [
    rowOf("3", "Purchase", "aa"),
    rowOf("2", "Payment", "aa"),
    rowOf("1", "Payment", "bb"),
  ] as const;
  expect(listEscrowsOnce([bought, sold, other])).toEqual([bought, other]);
  expect(listEscrowsOnce([sold, bought])).toEqual([bought]);
});

test("a dispute is called by its agent, or by its side where the agent's name is unknown", () => {
  const row = rowOf("1", "Purchase", "aa");
  expect(describeDispute({ ...row, agentName: "Translator" })).toBe("Translator");
  expect(describeDispute({ ...row, agentName: null })).toBe("Purchase");
});
