import { describe, expect, it } from "vitest";
import { ON_CHAIN_STATES, type OnChainState } from "../../../src/chain/network.ts";
import { computeDueAt } from "../../../src/escrow/model/compute-due-at.ts";
import {
  type ChainState,
  type EscrowRecord,
  NO_LOCK_STATE,
} from "../../../src/escrow/model/escrow-record.ts";
import { IDLE_PROGRESS, type Progress, type Step } from "../../../src/escrow/model/intent.ts";
import {
  canBeSpentByOthers,
  findLastDeadline,
  isStepPossible,
  windowOf,
} from "../../../src/escrow/model/windows.ts";
import { makeRecord } from "../../support/sources/records.ts";

const V1 = "Web3ChainV1";
const V2 = "Web3ChainV2";
const PAY_BY = 1_800_000_000_000;
const SUBMIT = 1_800_003_600_000;
const UNLOCK = 1_800_025_200_000;
const DISPUTE = 1_800_046_800_000;
const COOLDOWN = 1_800_001_000_000;
const BUYER_COOLDOWN = 1_800_002_000_000;

it.each([
  ["FundsLocking", V1, [null]],
  ["SubmitResult", V1, ["FundsLocked", "ResultSubmitted", "RefundRequested", "Disputed"]],
  ["Withdraw", V2, ["ResultSubmitted", "WithdrawAuthorized"]],
  ["AuthorizeRefund", V1, ["Disputed"]],
  ["AuthorizeRefund", V2, ["FundsLocked", "ResultSubmitted", "RefundRequested", "Disputed"]],
  ["SetRefundRequested", V1, ["FundsLocked", "ResultSubmitted", "Disputed"]],
  ["UnSetRefundRequested", V1, ["RefundRequested", "Disputed"]],
  ["WithdrawRefund", V2, ["FundsLocked", "RefundRequested", "RefundAuthorized"]],
  ["AuthorizeWithdrawal", V2, ["Disputed"]],
] as const)("the contract allows %s (%s) in the states %j", (step, type, states) => {
  const allowed = [null, ...ON_CHAIN_STATES].filter((state) => isStepPossible(step, state, type));
  expect(new Set(allowed)).toEqual(new Set(states));
});

function recordIn(
  onChainState: OnChainState | null,
  more: {
    side?: "payment" | "purchase";
    state?: Partial<ChainState>;
    progress?: Partial<Progress>;
  } = {},
): EscrowRecord {
  const cooldowns = { sellerCooldown: String(COOLDOWN), buyerCooldown: String(BUYER_COOLDOWN) };
  return makeRecord(more.side ?? "payment", {
    sourceType: V2,
    state: { ...NO_LOCK_STATE, ...cooldowns, onChainState, ...more.state },
    progress: { ...IDLE_PROGRESS, ...more.progress },
  });
}

describe("a step may be done", () => {
  it.each([
    ["FundsLocking", null, null, PAY_BY],
    ["SubmitResult", "FundsLocked", COOLDOWN, SUBMIT],
    ["SubmitResult", "ResultSubmitted", COOLDOWN, DISPUTE],
    ["SetRefundRequested", "FundsLocked", BUYER_COOLDOWN, UNLOCK],
    ["AuthorizeWithdrawal", "Disputed", BUYER_COOLDOWN, null],
    ["AuthorizeRefund", "Disputed", COOLDOWN, null],
    ["Withdraw", "ResultSubmitted", UNLOCK, null],
    ["Withdraw", "WithdrawAuthorized", null, null],
    ["WithdrawRefund", "FundsLocked", SUBMIT, null],
    ["WithdrawRefund", "RefundAuthorized", null, null],
  ] as const)("%s in the state %s from %s until %s", (step, state, notBefore, deadline) => {
    expect(windowOf(recordIn(state), step)).toEqual({ notBefore, deadline });
  });

  it.each([
    ["in a state that does not allow it", "Withdraw", {}],
    ["when the cooldown ends after its end", "SubmitResult", { sellerCooldown: String(SUBMIT) }],
    ["before the year 10000", "AuthorizeRefund", { sellerCooldown: "9007199254740991" }],
  ] as const)("never %s", (_, step, state) => {
    expect(windowOf(recordIn("FundsLocked", { state }), step)).toBeNull();
  });

  it("until its last deadline, whatever state returns", () => {
    const times = ["SubmitResult", "SetRefundRequested", "Withdraw"] as const;
    expect(times.map((step) => findLastDeadline(recordIn(null), step))).toEqual([
      ...[DISPUTE, UNLOCK, null],
    ]);
  });
});

describe("somebody else", () => {
  const at = (from: number) => ({ from, to: from + 300_000 });

  it.each([
    [
      "may object to a result, so that the seller is overtaken",
      "seller",
      "ResultSubmitted",
      SUBMIT,
    ],
    ["may object before a result", "seller", "FundsLocked", BUYER_COOLDOWN],
    ["may submit a result, so that the buyer is overtaken", "buyer", "FundsLocked", COOLDOWN],
    ["may authorize a refund at any time", "buyer", "FundsLocked", DISPUTE],
    ["may settle a dispute", "seller", "Disputed", DISPUTE],
  ] as const)("%s", (_, by, state, from) => {
    expect(canBeSpentByOthers(recordIn(state), by, at(from))).toBe(true);
  });

  it.each([
    ["withdraw a payment whose buyer is too late", "seller", "ResultSubmitted", UNLOCK],
    ["withdraw what was authorized", "seller", "WithdrawAuthorized", UNLOCK],
    ["collect an authorized refund", "buyer", "RefundAuthorized", SUBMIT],
    ["act while the buyer's cooldown lasts", "seller", "FundsLocked", BUYER_COOLDOWN - 400_000],
    ["lock", "buyer", null, SUBMIT],
  ] as const)("cannot %s", (_, by, state, from) => {
    expect(canBeSpentByOthers(recordIn(state), by, at(from))).toBe(false);
  });
});

describe("a wallet has something to do for a record", () => {
  const since = COOLDOWN + 5;
  const wants = (step: Step): Partial<Progress> => ({
    intent: { id: "intent-a", step, resultHash: null, by: "key-a", since },
  });
  const manual = { isManual: true, type: "Unknown", note: "", txHash: null };

  it.each([
    ["when the wanted step may begin", "ResultSubmitted", wants("Withdraw"), UNLOCK],
    ["at once when it may begin already", "FundsLocked", wants("SubmitResult"), since],
    ["at once when it can never be done", "FundsLocked", wants("AuthorizeRefund"), since],
    ["when what waits for a lock is over", null, wants("SubmitResult"), PAY_BY + 120_000],
    ["not while a person has to decide", "ResultSubmitted", { error: manual }, null],
    ["when the funds can be withdrawn", "ResultSubmitted", {}, UNLOCK],
    ["at once when they were authorized", "WithdrawAuthorized", {}, 0],
    ["not before a result", "FundsLocked", {}, null],
    ["not in a dispute", "Disputed", {}, null],
    ["not at the end", "Withdrawn", {}, null],
  ] as const)("%s", (_, onChainState, progress, due) => {
    const never = { sellerCooldown: "9007199254740991" };
    const isNever = "intent" in progress && progress.intent?.step === "AuthorizeRefund";
    const state = isNever ? never : {};
    expect(computeDueAt(recordIn(onChainState, { progress, state }))).toBe(due);
  });

  it.each([
    ["when no result came", "FundsLocked", "", SUBMIT],
    ["when none came to a request", "RefundRequested", "", SUBMIT],
    ["at once when the refund was authorized", "RefundAuthorized", "", 0],
    ["not when there is a result", "ResultSubmitted", "ab", null],
  ] as const)("of a purchase %s", (_, onChainState, resultHash, due) => {
    const record = recordIn(onChainState, { side: "purchase", state: { resultHash } });
    expect(computeDueAt(record)).toBe(due);
  });
});
