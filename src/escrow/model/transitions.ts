import { REDEEMERS } from "../../chain/contracts/redeemers.ts";
import { ON_CHAIN_STATES, type OnChainState } from "../../chain/network.ts";
import type { Side } from "./escrow-record.ts";

export const PAYMENT_ERROR_TYPES = ["NetworkError", "Unknown"] as const;

export const PURCHASE_ERROR_TYPES = ["NetworkError", "InsufficientFunds", "Unknown"] as const;

interface TransitionResult {
  action: string;
  /** What the operator is told; null: no error. With a note the error type is `Unknown`. */
  error: string | null;
}

/*
 * The action after a transition on the chain: a row per action before it, a column per new state, in
 * the order of ON_CHAIN_STATES:
 *
 *   FundsLocked · FundsOrDatumInvalid · ResultSubmitted · RefundRequested · Disputed ·
 *   WithdrawAuthorized · RefundAuthorized · Withdrawn · RefundWithdrawn · DisputedWithdrawn
 *
 * A cell is `=` (the action stays), `ext` (WaitingForExternalAction), `end` (None), or `req` (an
 * initiated action did not happen: requested again). Otherwise it is one of `TRANSITION_NOTES`, and an
 * operator must act (WaitingForManualAction). `req/e6` requests again and leaves the note.
 */
const PAYMENT_TRANSITION_TABLE = {
  None: "e1 e2 e1 e1 e1 e3 e3 e1 e1 e1",
  Ignore: "= = = = = e3 e3 = = =",
  WaitingForManualAction: "e4 e5 e4 e4 e4 e4 e4 e4 e4 e4",
  WaitingForExternalAction: "= e5 = = = = = end end end",
  SubmitResultRequested: "= e5 = = = e3 e3 e6 e6 e6",
  SubmitResultInitiated: "req e5 ext req ext e3 e3 e6 e6 e6",
  WithdrawRequested: "e7 e5 e6 e6 = = e3 e3 e6 e6",
  WithdrawInitiated: "e7 e5 e6 e6 req req e3 end e6 e6",
  AuthorizeRefundRequested: "e7 e5 = e6 = e3 ext e6 e6 e6",
  AuthorizeRefundInitiated: "e7 e5 req/e6 ext req e3 ext e6 e6 e6",
};

const PURCHASE_TRANSITION_TABLE = {
  None: "e1 e2 e1 e1 e1 e3 e3 e1 e1 e1",
  Ignore: "= = = = = e3 e3 = = =",
  WaitingForManualAction: "e4 e5 e4 e4 e4 e4 e4 e4 e4 e4",
  WaitingForExternalAction: "= e5 = = = = = end end end",
  FundsLockingRequested: "e8 e2 e8 e8 e8 e3 e3 e8 e8 e8",
  FundsLockingInitiated: "ext e2 e8 e8 e8 e3 e3 e8 e8 e8",
  SetRefundRequestedRequested: "= e5 = = ext e3 e3 e6 e6 e6",
  SetRefundRequestedInitiated: "req e5 req ext ext e3 e3 e6 e6 e6",
  UnSetRefundRequestedRequested: "ext e5 ext = = e3 e3 e6 e6 e6",
  UnSetRefundRequestedInitiated: "ext e5 ext req req e3 e3 e6 e6 e6",
  WithdrawRefundRequested: "= e5 e7 = = ext = e3 end e7",
  WithdrawRefundInitiated: "req e5 e7 req req ext req e7 end e7",
  AuthorizeWithdrawalRequested: "e7 e5 e7 e7 = ext e3 e6 e6 e6",
  AuthorizeWithdrawalInitiated: "e7 e5 e7 e7 req ext e3 e6 e6 e6",
};

const listKeys = <Key extends string>(table: Record<Key, string>) => Object.keys(table) as Key[];

export const PAYMENT_ACTIONS = listKeys(PAYMENT_TRANSITION_TABLE);
export const PURCHASE_ACTIONS = listKeys(PURCHASE_TRANSITION_TABLE);

/**
 * What happened, and what a person can do about it. A note about funds or a datum may be followed by a
 * colon and the reason.
 */
const TRANSITION_NOTES: Readonly<Record<string, string>> = {
  e1: "The escrow moved on the chain after this record was finished. Check its transactions, then clear the error to go on from the new state",
  e2: "Funds or datum on the chain differ from the agreed terms, and no step was due. The service will not act on this escrow. Check its output, then clear the error",
  e3: "Another party moved the escrow, so the next step is impossible. Check its transactions, then clear the error to go on from the new state",
  e4: "The escrow moved on the chain while a decision was due. Check its transactions, then clear the error, or try its step again if the new state allows it",
  e5: "Funds or datum on the chain differ from the agreed terms. The service will not act on this escrow. Check its output, then clear the error",
  e6: "The escrow moved before the service's step, which probably came too late. Clear the error to give the step up, or try the step again if it is still possible",
  e7: "The service's step does not lead to the escrow's new state. Clear the error to give the step up, or try the step again if it is still possible",
  e8: "Funds were locked under this identifier, probably by another party. Look for the lock among the wallet's transactions, then clear the error to go on with it",
};

/**
 * What a side does next.
 *
 * @throws RangeError when the side has no such action.
 */
export function lookUpNextAction(
  side: Side,
  action: string,
  newState: OnChainState,
): TransitionResult {
  const table: Readonly<Record<string, string>> =
    side === "payment" ? PAYMENT_TRANSITION_TABLE : PURCHASE_TRANSITION_TABLE;
  const row = table[action];
  if (row === undefined) throw new RangeError(`unknown action: ${action}`);
  const cell = row.split(" ")[ON_CHAIN_STATES.indexOf(newState)] ?? "";
  const [step = "", note = step] = cell.split("/");
  const error = TRANSITION_NOTES[note] ?? null;
  switch (step) {
    case "=":
      return { action, error };
    case "ext":
      return { action: "WaitingForExternalAction", error };
    case "end":
      return { action: "None", error };
    case "req":
      return { action: action.replace(/Initiated$/, "Requested"), error };
    default:
      return { action: "WaitingForManualAction", error };
  }
}

/** The states of escrows that have ended, by redeemer. */
const END_STATES = new Map<number | null, OnChainState>([
  [REDEEMERS.Withdraw, "Withdrawn"],
  [REDEEMERS.WithdrawRefund, "RefundWithdrawn"],
  [REDEEMERS.WithdrawDisputed, "DisputedWithdrawn"],
]);

/**
 * Computes the state of an escrow after a spend. Null: the contract has no such redeemer, or the redeemer
 * needs a continuing output.
 *
 * @param redeemer - constructor number.
 * @param next - state of the continuing output. Null: none.
 * @param amountsMatch - whether that output still holds the agreed funds.
 */
export function computeStateAfterSpend(
  redeemer: number,
  next: { state: OnChainState; resultHash: string | null } | null,
  amountsMatch: boolean,
): OnChainState | null {
  const end = END_STATES.get(redeemer);
  if (end !== undefined) return end;
  if (next === null) return null;
  const { state } = next;
  const hasResult = (next.resultHash ?? "") !== "";
  switch (redeemer) {
    case REDEEMERS.SetRefundRequested:
      return hasResult ? "Disputed" : "RefundRequested";
    case REDEEMERS.UnSetRefundRequested:
      if (state === "WithdrawAuthorized") return state;
      if (hasResult) return state === "Disputed" ? state : "ResultSubmitted";
      return amountsMatch ? "FundsLocked" : "FundsOrDatumInvalid";
    case REDEEMERS.SubmitResult:
      return state === "RefundRequested" || state === "Disputed" ? "Disputed" : "ResultSubmitted";
    case REDEEMERS.AuthorizeRefund:
      return state === "RefundAuthorized" ? state : "RefundRequested";
    default:
      return null;
  }
}

/** Whether a redeemer ends an escrow: no output continues it. */
export function endsEscrow(redeemer: number | null): boolean {
  return END_STATES.has(redeemer);
}

/** Who pays the fee of a step: the party that takes it; an administrator's is charged to no party. */
export function findFeePayer(redeemer: number): "seller" | "buyer" | null {
  switch (redeemer) {
    case REDEEMERS.Withdraw:
    case REDEEMERS.SubmitResult:
    case REDEEMERS.AuthorizeRefund:
      return "seller";
    case REDEEMERS.SetRefundRequested:
    case REDEEMERS.UnSetRefundRequested:
    case REDEEMERS.WithdrawRefund:
      return "buyer";
    default:
      return null;
  }
}
