import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ON_CHAIN_STATES, type OnChainState } from "../../../src/chain/network.ts";
import { type Moved, wantedAfter, wantedBefore } from "../../../src/escrow/fold/wanted-after.ts";
import { type Side, UNLOCKED } from "../../../src/escrow/record.ts";
import type { TransactionRecord } from "../../../src/escrow/transaction-record.ts";
import {
  AUTOMATIC,
  NOTHING_WANTED,
  nextActionOf,
  STEPS,
  type Step,
  type UnderWay,
  type Want,
  type Wanted,
} from "../../../src/escrow/wanted.ts";

const STEPS_OF: Record<Side, Step[]> = {
  payment: ["SubmitResult", "Withdraw", "AuthorizeRefund"],
  purchase: STEPS.filter((step) => !["SubmitResult", "Withdraw", "AuthorizeRefund"].includes(step)),
};

type Web3Type = Parameters<typeof wantedAfter>[0]["sourceType"];

const want = (step: Step, id = "want-a"): Want => ({
  ...{ id, step, resultHash: null, by: "key-a", since: 1 },
});

function transaction(txHash: string): TransactionRecord {
  return {
    ...{ id: txHash, createdAt: 1, updatedAt: 1, txHash, status: "Pending", fees: null },
    ...{ blockHeight: null, blockTime: null, previousOnChainState: null, newOnChainState: null },
  };
}

const underWay = (txHash: string, spends: string | null): UnderWay => ({
  ...{ transaction: transaction(txHash), spends },
});

const subject = (side: Side, onChainState: OnChainState | null, wanted: Partial<Wanted>) => ({
  side,
  sourceType: "Web3ChainV2" as const,
  state: { ...UNLOCKED, onChainState, utxo: onChainState && "tx0#0" },
  wanted: { ...NOTHING_WANTED, ...wanted },
});

const actionOf = (onChainState: OnChainState | null, wanted: Wanted) =>
  nextActionOf({ state: { onChainState }, wanted });

const moved = (onChainState: OnChainState, more: Partial<Moved> = {}): Moved => ({
  ...{ txHash: "tx1", onChainState, resultHash: "", utxo: "tx1#0", madeFor: null, ...more },
});

describe("what is wanted once the chain has moved an escrow", () => {
  it("is nothing, when our own transaction did it, however late it comes", () => {
    for (const [side, step, from, to] of [
      ["purchase", "FundsLocking", null, "FundsLocked"],
      ["payment", "SubmitResult", "FundsLocked", "ResultSubmitted"],
      ["payment", "Withdraw", "ResultSubmitted", "Withdrawn"],
      ["purchase", "SetRefundRequested", "ResultSubmitted", "Disputed"],
    ] as const) {
      const madeFor = want(step);
      const after = wantedAfter(
        subject(side, from, { want: madeFor }),
        moved(to, { madeFor, ...(to === "Withdrawn" && { utxo: null }) }),
      );
      expect(after.wanted).toEqual(NOTHING_WANTED);
      expect(after.taken.ended).toEqual(madeFor);
    }
  });

  it("is left to a person, when the funds are locked elsewhere while our own lock is on its way", () => {
    const was = { want: want("FundsLocking"), underWay: underWay("ours", null) };
    const { wanted } = wantedAfter(subject("purchase", null, was), moved("FundsLocked"));
    expect(wanted).toMatchObject({ want: null, underWay: null, error: { isManual: true } });
    expect(actionOf("FundsLocked", wanted).requestedAction).toBe("WaitingForManualAction");
  });

  it("is asked for again, when a stranger's step took the output that ours spends", () => {
    const asked = want("SubmitResult");
    const was = { want: asked, underWay: underWay("ours", "tx0#0") };
    const { wanted } = wantedAfter(
      subject("payment", "FundsLocked", was),
      moved("RefundRequested"),
    );
    expect(wanted).toEqual({ ...NOTHING_WANTED, want: asked });
  });

  it("is still under way, when the step before it returns after a rollback", () => {
    const [first, second] = [want("SubmitResult", "want-1"), want("Withdraw", "want-2")];
    const was = { want: second, underWay: underWay("tx2", "tx1#0") };
    const { wanted, taken } = wantedAfter(
      subject("payment", "FundsLocked", was),
      moved("ResultSubmitted", { madeFor: first }),
    );
    expect(wanted).toEqual({ ...NOTHING_WANTED, ...was });
    expect(taken.ended).toEqual(first);
  });

  it("stays without a word, while the escrow is behind the state it was asked in", () => {
    const asked = want("Withdraw");
    const { wanted } = wantedAfter(subject("payment", null, { want: asked }), moved("FundsLocked"));
    expect(wanted).toEqual({ ...NOTHING_WANTED, want: asked });
  });

  it("is no longer over, when a lock comes to an expired record", () => {
    const { wanted } = wantedAfter(
      subject("payment", null, { expiredAt: 5 }),
      moved("FundsLocked"),
    );
    expect(actionOf(null, { ...NOTHING_WANTED, expiredAt: 5 }).requestedAction).toBe("None");
    expect(actionOf("FundsLocked", wanted).requestedAction).toBe("WaitingForExternalAction");
  });
});

const error = { isManual: false, type: "InsufficientFunds", note: "short", txHash: null };
const anyCase = fc
  .record({
    side: fc.constantFrom<Side>("payment", "purchase"),
    step: fc.nat(),
    from: fc.constantFrom(null, ...ON_CHAIN_STATES),
    to: fc.constantFrom(...ON_CHAIN_STATES),
    isOurs: fc.boolean(),
    isWanted: fc.boolean(),
    hasError: fc.boolean(),
    expiredAt: fc.constantFrom(null, 5),
  })
  .map(({ side, step, from, to, isOurs, isWanted, hasError, expiredAt }) => {
    const steps = STEPS_OF[side];
    const asked = want(steps[step % steps.length] ?? "Withdraw");
    const wanted = {
      ...{ want: isWanted ? asked : null, underWay: null, error: hasError ? error : null },
      expiredAt,
    };
    const madeFor = isOurs ? asked : null;
    return { before: subject(side, from, wanted), step: moved(to, { madeFor }), asked, madeFor };
  });

describe("Rollback fault: what is wanted once a transaction is undone", () => {
  it("Rollback fault: is what it was but no lock that was given up, and ours is under way again if it may come", () => {
    fc.assert(
      fc.property(anyCase, fc.boolean(), ({ before, step, asked, madeFor }, mayCome) => {
        const { wanted, taken } = wantedAfter(before, step);
        const gone = transaction("tx1");
        const undone = {
          ...{ transaction: gone, madeFor, mayCome },
          before: { state: before.state, taken },
        };
        const isWantedAgain = before.wanted.want !== null || taken.ended !== null;
        const isUnderWay = isWantedAgain && madeFor !== null && mayCome;
        const isGivenUp =
          before.wanted.expiredAt !== null && !isUnderWay && asked.step === "FundsLocking";
        expect(wantedBefore(wanted, undone)).toEqual({
          ...before.wanted,
          want: isWantedAgain && !isGivenUp ? asked : null,
          underWay: isUnderWay ? { transaction: gone, spends: before.state.utxo } : null,
        });
      }),
    );
  });

  it("Rollback fault: is what was asked for since, and the error that came since", () => {
    fc.assert(
      fc.property(anyCase, ({ before, step, madeFor }) => {
        const { wanted, taken } = wantedAfter(before, step);
        const since = {
          want: want("AuthorizeRefund", "want-b"),
          underWay: underWay("tx9", "tx1#0"),
          error: { isManual: true, type: "Unknown", note: "since", txHash: "tx8" },
        };
        const undone = {
          ...{ transaction: transaction("tx1"), madeFor, mayCome: true },
          before: { state: before.state, taken },
        };
        expect(wantedBefore({ ...wanted, ...since }, undone)).toMatchObject(since);
      }),
    );
  });

  it("Rollback fault: is what was asked for, and not what came by itself since", () => {
    const asked = want("SetRefundRequested");
    const before = subject("purchase", "FundsLocked", { want: asked });
    const { wanted, taken } = wantedAfter(before, moved("RefundRequested", { madeFor: asked }));
    const since = {
      want: { ...want("WithdrawRefund", "want-b"), by: AUTOMATIC },
      underWay: underWay("tx9", "tx1#0"),
    };
    const gone = transaction("tx1");
    const undone = {
      ...{ transaction: gone, madeFor: asked, mayCome: true },
      before: { state: before.state, taken },
    };
    expect(wantedBefore({ ...wanted, ...since }, undone)).toEqual({
      ...NOTHING_WANTED,
      want: asked,
      underWay: { transaction: gone, spends: before.state.utxo },
    });
  });
});

/*
 * What becomes of a step that was asked for in a state when somebody else moves the escrow, a column per
 * new state in the order of ON_CHAIN_STATES: `done`, still asked for (`=`), over with a note (`x`), or a
 * person decides (`man`).
 */
const CELLS: [Web3Type, Side, Step, OnChainState | null, string][] = [
  ["Web3ChainV1", "payment", "SubmitResult", "FundsLocked", "= man = = = x x x x x"],
  ["Web3ChainV2", "payment", "SubmitResult", "RefundRequested", "= man = = = x x x x x"],
  ["Web3ChainV1", "payment", "Withdraw", "ResultSubmitted", "x man = x x x x done x x"],
  ["Web3ChainV2", "payment", "Withdraw", "WithdrawAuthorized", "x man = x x = x done x x"],
  ["Web3ChainV1", "payment", "AuthorizeRefund", "Disputed", "x man x done = x x x x x"],
  ["Web3ChainV2", "payment", "AuthorizeRefund", "Disputed", "= man = = = x done x x x"],
  ["Web3ChainV1", "purchase", "FundsLocking", null, "done man x x x x x x x x"],
  ["Web3ChainV1", "purchase", "SetRefundRequested", "FundsLocked", "= man = done = x x x x x"],
  ["Web3ChainV2", "purchase", "SetRefundRequested", "ResultSubmitted", "= man = x done x x x x x"],
  ["Web3ChainV1", "purchase", "UnSetRefundRequested", "Disputed", "x man done = = x x x x x"],
  [
    "Web3ChainV1",
    "purchase",
    "UnSetRefundRequested",
    "RefundRequested",
    "done man x = = x x x x x",
  ],
  ["Web3ChainV2", "purchase", "AuthorizeWithdrawal", "Disputed", "x man x x = done x x x x"],
  ["Web3ChainV1", "purchase", "WithdrawRefund", "FundsLocked", "= man x = x x x x done x"],
  ["Web3ChainV2", "purchase", "WithdrawRefund", "RefundAuthorized", "= man x = x x = x done x"],
];

describe("a step that somebody else's transaction meets", () => {
  it.each(CELLS)("%s, %s: %s asked for in %s", (sourceType, side, step, from, cells) => {
    const by = (who: string) => ({ ...want(step), by: who, resultHash: "ab" });
    const outcome = (to: OnChainState, who: string, resultHash = "") => {
      const before = { ...subject(side, from, { want: by(who) }), sourceType };
      const { wanted } = wantedAfter(before, moved(to, { resultHash }));
      if (wanted.error?.isManual) return "man";
      if (wanted.want) return wanted.error ? "an error" : "=";
      return wanted.error ? "x" : "done";
    };
    const expected = cells.split(" ");
    expect(ON_CHAIN_STATES.map((to) => outcome(to, "key-a"))).toEqual(expected);
    // Nobody has to be told of what nobody asked for.
    const silent = expected.map((one) => (one === "x" ? "done" : one));
    expect(ON_CHAIN_STATES.map((to) => outcome(to, AUTOMATIC))).toEqual(silent);
    if (step === "SubmitResult") expect(outcome("Disputed", "key-a", "ab")).toBe("done");
  });
});
