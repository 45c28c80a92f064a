import { expect, it } from "vitest";
import type { OnChainState } from "../../../src/chain/network.ts";
import { dueAt } from "../../../src/escrow/fold/due-at.ts";
import { type EscrowRecord, type Side, UNLOCKED } from "../../../src/escrow/record.ts";
import { NOTHING_WANTED, type Step } from "../../../src/escrow/wanted.ts";
import { makeRecord } from "../../support/sources/records.ts";

type Time = keyof EscrowRecord["terms"];

/*
 * A step that waits for a state to return, which a rollback took back: until its deadline, or until what
 * comes by itself could end the escrow, or until the last agreed time; for a lock until pay-by, after which
 * none can return.
 */
it.each<[Side, Step, OnChainState | null, Time]>([
  ["payment", "SubmitResult", null, "payByTime"],
  ["payment", "Withdraw", "FundsLocked", "externalDisputeUnlockTime"],
  ["purchase", "SetRefundRequested", null, "payByTime"],
  ["purchase", "SetRefundRequested", "RefundAuthorized", "unlockTime"],
  ["purchase", "UnSetRefundRequested", "FundsLocked", "submitResultTime"],
])(
  "a %s, of which %s is wanted while it is %s, waits until %s",
  (side, step, onChainState, until) => {
    const want = { id: "w", step, resultHash: null, by: "key-a", since: 1 };
    const state = { ...UNLOCKED, onChainState };
    const record = makeRecord(side, { state, wanted: { ...NOTHING_WANTED, want } });
    expect(dueAt(record)).toBe(Number(record.terms[until]) + 120_000);
  },
);
