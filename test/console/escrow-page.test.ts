/** What the page of an escrow says of its states and of a lock that differs from its quote. */
import { describe, expect, test } from "vitest";
import { describeWait, nameNext } from "../../console/pages/escrow/describe-next.ts";
import { listDifferences } from "../../console/pages/escrow/differences.ts";
import { toSearchQuery } from "../../console/pages/escrow/search-query.ts";
import type { EscrowRow } from "../../console/pages/escrow/sides.ts";
import { listTrackSteps } from "../../console/pages/escrow/track-steps.ts";
import { unitDetails } from "../../console/ui/format.ts";
import { findFundMismatches } from "../../src/escrow/sync/find-mismatches.ts";

const NOW = Date.parse("2026-11-22T12:00:00Z");
const TOKEN = `${"ab".repeat(28)}544b4e`;
unitDetails.value = new Map([["", { ticker: "ADA", decimals: 6 }]]);

describe("listDifferences", () => {
  test("shows amounts of a note with their units, expected beside found", () => {
    const agreed = [
      { unit: "", amount: 5_000_000n },
      { unit: TOKEN, amount: 7n },
    ];
    const reasons = findFundMismatches(agreed, [{ unit: "", amount: 4_000_000n }], 1_000_000n);
    const note = `Funds differ. Check its output, then clear the error: ${reasons.join("; ")}`;
    expect(listDifferences(note)).toEqual([
      { what: "ADA", expected: "5 ADA", found: "3 ADA" },
      { what: "TKN", expected: "7 minor units of TKN", found: "0 TKN" },
    ]);
  });

  test("names what else differs, and repeats a reason that has no pattern", () => {
    const note = "Transaction ab locks other terms: the unlock time differs; it is odd";
    expect(listDifferences(note).map(({ what, found }) => `${what}: ${found}`)).toEqual([
      "Unlock time: another",
      "Lock: it is odd",
    ]);
  });

  test("finds none in another note", () => {
    expect(listDifferences("The escrow moved. Check its transactions, then clear it")).toEqual([]);
  });
});

describe("nameNext", () => {
  const row = (onChainState: string | null, requestedAction = "WaitingForExternalAction") =>
    ({ onChainState, NextAction: { requestedAction } }) as EscrowRow;

  test("says whose result is due, and what else is waited for", () => {
    expect(nameNext("payment", row("FundsLocked"))).toBe("Our result is due");
    expect(nameNext("purchase", row("FundsLocked"))).toBe("Seller's result is due");
    expect(nameNext("payment", row(null))).toBe("Waits for the buyer");
    expect(nameNext("purchase", row("ResultSubmitted"))).toBe("Payout after unlock time");
  });

  test("names a step that is under way", () => {
    expect(nameNext("payment", row("FundsLocked", "SubmitResultInitiated"))).toBe(
      "Result on its way",
    );
  });
});

describe("describeWait", () => {
  test.each([
    ["the seller's result", "chain", "It waits for the seller's result."],
    [
      "the escrow to return to an earlier state",
      "chain",
      "It waits for the escrow to return to an earlier state.",
    ],
    ["transaction ab to be in a block", "chain", "It waits for transaction ab to be in a block."],
    [
      "blocks that show whether the step was in time",
      "chain",
      "It waits for blocks that show whether the step was in time.",
    ],
    [
      "a request, since the withdrawal costs more than it pays",
      "person",
      "It waits for a request, since the withdrawal costs more than it pays.",
    ],
    [
      "one party to give in, or the settlement of the dispute",
      "person",
      "It waits for one party to give in, or the settlement of the dispute.",
    ],
    [
      "waits for the chain provider of its payment source",
      "provider",
      "It waits for the chain provider of its payment source.",
    ],
    [
      "waits for its wallet, whose drives is nothing",
      "source",
      "It waits for its wallet, whose drives is nothing.",
    ],
    [
      "waits for blocks: the wallet has too many pending transactions",
      "chain",
      "It waits for blocks: the wallet has too many pending transactions.",
    ],
    [
      "waits for the chain provider: no answer in time",
      "failing",
      "It waits for the chain provider: no answer in time.",
    ],
    [
      "the wallet lacks 5 minor units of the native coin",
      "funds",
      "The wallet lacks 5 minor units of the native coin.",
    ],
    [
      "the wallet's earlier transactions are not final yet",
      "chain",
      "The wallet's earlier transactions are not final yet.",
    ],
    [
      "the payment source no longer has the wallet",
      "person",
      "The payment source no longer has the wallet.",
    ],
    [
      "the database was restored: the wallet sends nothing",
      "chain",
      "The database was restored: the wallet sends nothing.",
    ],
    [
      "the network did not accept the transaction",
      "failing",
      "The last try failed: the network did not accept the transaction.",
    ],
  ])("makes one sentence of: %s", (reason, code, sentence) => {
    expect(describeWait(reason, code)).toBe(sentence);
  });
});

describe("listTrackSteps", () => {
  const rowOf = (states: readonly string[], requestedAction = "WaitingForExternalAction") =>
    ({
      createdAt: new Date(NOW - 9_000).toISOString(),
      onChainState: states.at(-1) ?? null,
      submitResultTime: String(NOW + 60_000),
      NextAction: { requestedAction, errorType: null, errorNote: null },
      TransactionHistory: states.map((newOnChainState, i) => ({
        newOnChainState,
        status: "Confirmed",
        txHash: String(i),
        blockTime: NOW / 1_000 - 8 + i,
      })),
    }) as unknown as EscrowRow;
  const phases = (row: EscrowRow, now = NOW) =>
    listTrackSteps(row, now).map(({ label, phase }) => `${label}: ${phase}`);

  test("puts the present state between those before and those ahead", () => {
    expect(phases(rowOf(["FundsLocked", "ResultSubmitted"]))).toEqual([
      "Quoted: past",
      "Funds locked: past",
      "Result submitted: present",
      "Paid out: ahead",
    ]);
  });

  test("expects a refund once the time of the result is over", () => {
    expect(phases(rowOf(["FundsLocked"]), NOW + 120_000)).toEqual([
      "Quoted: past",
      "Funds locked: present",
      "Refunded: ahead",
    ]);
  });

  test.each([
    [-8_000 + 400, -8_000 + 400],
    [-7_000, null],
  ])("shows when it was quoted unless its lock is in an earlier second (%i)", (age, shown) => {
    const row = { ...rowOf(["FundsLocked"]), createdAt: new Date(NOW + age).toISOString() };
    const [quoted] = listTrackSteps(row, NOW);
    expect(quoted?.time).toBe(shown === null ? null : NOW + shown);
  });

  test("has nothing ahead of an escrow that ended without a lock", () => {
    expect(phases(rowOf([], "None"))).toEqual(["Quoted: past", "Ended without a lock: present"]);
  });
});

describe("toSearchQuery", () => {
  test("asks for the escrow of a pasted identifier, which no search has room for", () => {
    const identifier = "19Ab".repeat(288);
    expect(toSearchQuery(` ${identifier}\n`)).toEqual({ blockchainIdentifier: identifier });
    expect(toSearchQuery("ab".repeat(32))).toEqual({ searchQuery: "ab".repeat(32) });
  });

  test("keeps any other text within what the API searches", () => {
    expect(toSearchQuery(" Translator ")).toEqual({ searchQuery: "Translator" });
    expect(toSearchQuery("word ".repeat(100)).searchQuery).toHaveLength(250);
    expect(toSearchQuery("ab".repeat(5_000)).searchQuery).toHaveLength(250);
  });
});
