import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ON_CHAIN_STATES, type OnChainState } from "../../../src/chain/network.ts";
import {
  advanceProgress,
  type ChainTransition,
  revertProgress,
} from "../../../src/escrow/model/advance-progress.ts";
import { NO_LOCK_STATE, type Side } from "../../../src/escrow/model/escrow-record.ts";
import {
  AUTOMATIC_REQUESTER,
  IDLE_PROGRESS,
  type Intent,
  nextActionOf,
  type PendingTransaction,
  type Progress,
  STEPS,
  type Step,
} from "../../../src/escrow/model/intent.ts";
import type { TransactionRecord } from "../../../src/escrow/model/transaction-record.ts";

const STEPS_OF: Record<Side, Step[]> = {
  payment: ["SubmitResult", "Withdraw", "AuthorizeRefund"],
  purchase: STEPS.filter((step) => !["SubmitResult", "Withdraw", "AuthorizeRefund"].includes(step)),
};

type Web3Type = Parameters<typeof advanceProgress>[0]["sourceType"];

const intent = (step: Step, id = "intent-a"): Intent => ({
  ...{ id, step, resultHash: null, by: "key-a", since: 1 },
});

function transaction(txHash: string): TransactionRecord {
  return {
    ...{ id: txHash, createdAt: 1, updatedAt: 1, txHash, status: "Pending", fees: null },
    ...{ blockHeight: null, blockTime: null, previousOnChainState: null, newOnChainState: null },
  };
}

const pendingTransaction = (txHash: string, spends: string | null): PendingTransaction => ({
  ...{ transaction: transaction(txHash), spends },
});

const subject = (side: Side, onChainState: OnChainState | null, progress: Partial<Progress>) => ({
  side,
  sourceType: "Web3ChainV2" as const,
  state: { ...NO_LOCK_STATE, onChainState, utxo: onChainState && "tx0#0" },
  progress: { ...IDLE_PROGRESS, ...progress },
});

const actionOf = (onChainState: OnChainState | null, progress: Progress) =>
  nextActionOf({ state: { onChainState }, progress });

const moved = (
  onChainState: OnChainState,
  more: Partial<ChainTransition> = {},
): ChainTransition => ({
  ...{
    txHash: "tx1",
    onChainState,
    resultHash: "",
    utxo: "tx1#0",
    transactionIntent: null,
    ...more,
  },
});

describe("what is wanted once the chain has moved an escrow", () => {
  it("is nothing, when our own transaction did it, however late it comes", () => {
    for (const [side, step, from, to] of [
      ["purchase", "FundsLocking", null, "FundsLocked"],
      ["payment", "SubmitResult", "FundsLocked", "ResultSubmitted"],
      ["payment", "Withdraw", "ResultSubmitted", "Withdrawn"],
      ["purchase", "SetRefundRequested", "ResultSubmitted", "Disputed"],
    ] as const) {
      const madeFor = intent(step);
      const after = advanceProgress(
        subject(side, from, { intent: madeFor }),
        moved(to, { transactionIntent: madeFor, ...(to === "Withdrawn" && { utxo: null }) }),
      );
      expect(after.progress).toEqual(IDLE_PROGRESS);
      expect(after.undo.endedIntent).toEqual(madeFor);
    }
  });

  it("is left to a person, when the funds are locked elsewhere while our own lock is on its way", () => {
    const was = {
      intent: intent("FundsLocking"),
      pendingTransaction: pendingTransaction("ours", null),
    };
    const { progress } = advanceProgress(subject("purchase", null, was), moved("FundsLocked"));
    expect(progress).toMatchObject({
      intent: null,
      pendingTransaction: null,
      error: { isManual: true },
    });
    expect(actionOf("FundsLocked", progress).requestedAction).toBe("WaitingForManualAction");
  });

  it("is asked for again, when a stranger's step took the output that ours spends", () => {
    const asked = intent("SubmitResult");
    const was = { intent: asked, pendingTransaction: pendingTransaction("ours", "tx0#0") };
    const { progress } = advanceProgress(
      subject("payment", "FundsLocked", was),
      moved("RefundRequested"),
    );
    expect(progress).toEqual({ ...IDLE_PROGRESS, intent: asked });
  });

  it("is still under way, when the step before it returns after a rollback", () => {
    const [first, second] = [intent("SubmitResult", "intent-1"), intent("Withdraw", "intent-2")];
    const was = { intent: second, pendingTransaction: pendingTransaction("tx2", "tx1#0") };
    const { progress, undo } = advanceProgress(
      subject("payment", "FundsLocked", was),
      moved("ResultSubmitted", { transactionIntent: first }),
    );
    expect(progress).toEqual({ ...IDLE_PROGRESS, ...was });
    expect(undo.endedIntent).toEqual(first);
  });

  it("stays without a word, while the escrow is behind the state it was asked in", () => {
    const asked = intent("Withdraw");
    const { progress } = advanceProgress(
      subject("payment", null, { intent: asked }),
      moved("FundsLocked"),
    );
    expect(progress).toEqual({ ...IDLE_PROGRESS, intent: asked });
  });

  it("is no longer over, when a lock comes to an expired record", () => {
    const { progress } = advanceProgress(
      subject("payment", null, { expiredAt: 5 }),
      moved("FundsLocked"),
    );
    expect(actionOf(null, { ...IDLE_PROGRESS, expiredAt: 5 }).requestedAction).toBe("None");
    expect(actionOf("FundsLocked", progress).requestedAction).toBe("WaitingForExternalAction");
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
    const asked = intent(steps[step % steps.length] ?? "Withdraw");
    const progress = {
      ...{
        intent: isWanted ? asked : null,
        pendingTransaction: null,
        error: hasError ? error : null,
      },
      expiredAt,
    };
    const madeFor = isOurs ? asked : null;
    return {
      before: subject(side, from, progress),
      step: moved(to, { transactionIntent: madeFor }),
      asked,
      madeFor,
    };
  });

describe("Rollback fault: the intent after an undone transaction", () => {
  it("Rollback fault: is the earlier intent except a cancelled lock, and the service's transaction is pending again if it may land", () => {
    fc.assert(
      fc.property(anyCase, fc.boolean(), ({ before, step, asked, madeFor }, mayCome) => {
        const { progress, undo } = advanceProgress(before, step);
        const gone = transaction("tx1");
        const undone = {
          ...{ transaction: gone, madeFor, mayCome },
          undoData: { state: before.state, undo },
        };
        const isWantedAgain = before.progress.intent !== null || undo.endedIntent !== null;
        const isUnderWay = isWantedAgain && madeFor !== null && mayCome;
        const isGivenUp =
          before.progress.expiredAt !== null && !isUnderWay && asked.step === "FundsLocking";
        expect(revertProgress(progress, undone)).toEqual({
          ...before.progress,
          intent: isWantedAgain && !isGivenUp ? asked : null,
          pendingTransaction: isUnderWay ? { transaction: gone, spends: before.state.utxo } : null,
        });
      }),
    );
  });

  it("Rollback fault: is the later request, with the later error", () => {
    fc.assert(
      fc.property(anyCase, ({ before, step, madeFor }) => {
        const { progress, undo } = advanceProgress(before, step);
        const since = {
          intent: intent("AuthorizeRefund", "intent-b"),
          pendingTransaction: pendingTransaction("tx9", "tx1#0"),
          error: { isManual: true, type: "Unknown", note: "since", txHash: "tx8" },
        };
        const undone = {
          ...{ transaction: transaction("tx1"), madeFor, mayCome: true },
          undoData: { state: before.state, undo },
        };
        expect(revertProgress({ ...progress, ...since }, undone)).toMatchObject(since);
      }),
    );
  });

  it("Rollback fault: is the request, and not a later automatic step", () => {
    const asked = intent("SetRefundRequested");
    const before = subject("purchase", "FundsLocked", { intent: asked });
    const { progress, undo } = advanceProgress(
      before,
      moved("RefundRequested", { transactionIntent: asked }),
    );
    const since = {
      intent: { ...intent("WithdrawRefund", "intent-b"), by: AUTOMATIC_REQUESTER },
      pendingTransaction: pendingTransaction("tx9", "tx1#0"),
    };
    const gone = transaction("tx1");
    const undone = {
      ...{ transaction: gone, madeFor: asked, mayCome: true },
      undoData: { state: before.state, undo },
    };
    expect(revertProgress({ ...progress, ...since }, undone)).toEqual({
      ...IDLE_PROGRESS,
      intent: asked,
      pendingTransaction: { transaction: gone, spends: before.state.utxo },
    });
  });
});

/*
 * What becomes of a requested step when another party moves the escrow. Each column is a new state,
 * in the order of ON_CHAIN_STATES. A cell is `done`, still requested (`=`), over with a note (`x`),
 * or waiting for a person (`man`).
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
    const by = (who: string) => ({ ...intent(step), by: who, resultHash: "ab" });
    const outcome = (to: OnChainState, who: string, resultHash = "") => {
      const before = { ...subject(side, from, { intent: by(who) }), sourceType };
      const { progress } = advanceProgress(before, moved(to, { resultHash }));
      if (progress.error?.isManual) return "man";
      if (progress.intent) return progress.error ? "an error" : "=";
      return progress.error ? "x" : "done";
    };
    const expected = cells.split(" ");
    expect(ON_CHAIN_STATES.map((to) => outcome(to, "key-a"))).toEqual(expected);
    // Nobody has to be told of what nobody asked for.
    const silent = expected.map((one) => (one === "x" ? "done" : one));
    expect(ON_CHAIN_STATES.map((to) => outcome(to, AUTOMATIC_REQUESTER))).toEqual(silent);
    if (step === "SubmitResult") expect(outcome("Disputed", "key-a", "ab")).toBe("done");
  });
});
