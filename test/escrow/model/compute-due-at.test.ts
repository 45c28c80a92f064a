import { expect, it } from "vitest";
import type { OnChainState } from "../../../src/chain/network.ts";
import { computeDueAt } from "../../../src/escrow/model/compute-due-at.ts";
import {
  type EscrowRecord,
  NO_LOCK_STATE,
  type Side,
} from "../../../src/escrow/model/escrow-record.ts";
import { IDLE_PROGRESS, type Step } from "../../../src/escrow/model/intent.ts";
import { makeRecord } from "../../support/sources/records.ts";

type Time = keyof EscrowRecord["terms"];

/*
 * When a step gives up that waits for a state which a rollback undid. This is its deadline, the
 * first time at which an automatic step could end the escrow, or the last agreed time. A lock waits
 * until pay-by, after which it cannot return.
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
    const intent = { id: "w", step, resultHash: null, by: "key-a", since: 1 };
    const state = { ...NO_LOCK_STATE, onChainState };
    const record = makeRecord(side, { state, progress: { ...IDLE_PROGRESS, intent } });
    expect(computeDueAt(record)).toBe(Number(record.terms[until]) + 120_000);
  },
);
