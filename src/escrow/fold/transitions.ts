import { ON_CHAIN_STATES, type OnChainState } from "../../chain/network.ts";
import { REDEEMERS } from "../../chain/redeemer.ts";
import type { Side } from "../side.ts";

export const PAYMENT_ACTIONS = [
  "None",
  "Ignore",
  "WaitingForManualAction",
  "WaitingForExternalAction",
  "SubmitResultRequested",
  "SubmitResultInitiated",
  "WithdrawRequested",
  "WithdrawInitiated",
  "AuthorizeRefundRequested",
  "AuthorizeRefundInitiated",
] as const;
export type PaymentAction = (typeof PAYMENT_ACTIONS)[number];

export const PURCHASE_ACTIONS = [
  "None",
  "Ignore",
  "WaitingForManualAction",
  "WaitingForExternalAction",
  "FundsLockingRequested",
  "FundsLockingInitiated",
  "SetRefundRequestedRequested",
  "SetRefundRequestedInitiated",
  "UnSetRefundRequestedRequested",
  "UnSetRefundRequestedInitiated",
  "WithdrawRefundRequested",
  "WithdrawRefundInitiated",
  "AuthorizeWithdrawalRequested",
  "AuthorizeWithdrawalInitiated",
] as const;
export type PurchaseAction = (typeof PURCHASE_ACTIONS)[number];

export const PAYMENT_ERROR_TYPES = ["NetworkError", "Unknown"] as const;
export type PaymentErrorType = (typeof PAYMENT_ERROR_TYPES)[number];

export const PURCHASE_ERROR_TYPES = ["NetworkError", "InsufficientFunds", "Unknown"] as const;
export type PurchaseErrorType = (typeof PURCHASE_ERROR_TYPES)[number];

export interface NextStep<Action> {
  action: Action;
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
 * A cell is `=` (the action stays), `ext` (WaitingForExternalAction), `end` (None), `req` (an
 * initiated action did not come about: requested again), or a note of `notesOf`, which hands the record
 * to an operator (WaitingForManualAction). `req/e6` requests again and leaves the note.
 */
const PAYMENT_TABLE: Record<PaymentAction, string> = {
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

const PURCHASE_TABLE: Record<PurchaseAction, string> = {
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

/**
 * Each says what happened, and then what a person can do about it. After those about funds or a datum, what is
 * wrong with them may follow a colon.
 */
function notesOf(side: Side): Readonly<Record<string, string>> {
  const clear = `POST /${side}/error-state-recovery`;
  const either = `give it up by ${clear}, or have it tried again by POST /${side}/retry where it is still possible`;
  const goOn = `look at its transactions, then let it go on from its new state by ${clear}`;
  const noted = `nothing is done with them by itself: look at the escrow's output, then take note by ${clear} of what is wrong`;
  return {
    e1: `The escrow moved on the chain although this record was finished: ${goOn}`,
    e2: `Funds or datum on the chain are not what was agreed, and no step of ours was expected; ${noted}`,
    e3: `The escrow was moved by someone else in a way that rules out the next step: ${goOn}`,
    e4: `The escrow moved on the chain while a manual decision was due: ${goOn}, or have its step tried again by POST /${side}/retry where it is still possible`,
    e5: `Funds or datum on the chain are not what was agreed; ${noted}`,
    e6: `The escrow moved before our own step could; that step probably came too late: ${either}`,
    e7: `The escrow went to a state that our own step does not lead to: ${either}`,
    e8: `Funds were locked under this identifier, but probably not by us: look for the lock among the wallet's transactions, then go on with it by ${clear}`,
  };
}

const PAYMENT_NOTES = notesOf("payment");
const PURCHASE_NOTES = notesOf("purchase");

/**
 * What the seller's side does next.
 *
 * @throws RangeError when there is no such payment action.
 */
export function nextPaymentAction(action: string, newState: OnChainState): NextStep<PaymentAction> {
  return nextStep(PAYMENT_ACTIONS, PAYMENT_TABLE, PAYMENT_NOTES, action, newState);
}

/**
 * What the buyer's side does next.
 *
 * @throws RangeError when there is no such purchase action.
 */
export function nextPurchaseAction(
  action: string,
  newState: OnChainState,
): NextStep<PurchaseAction> {
  return nextStep(PURCHASE_ACTIONS, PURCHASE_TABLE, PURCHASE_NOTES, action, newState);
}

type CommonAction = PaymentAction & PurchaseAction;

function nextStep<Action extends string>(
  actions: readonly Action[],
  table: Record<Action, string>,
  notes: Readonly<Record<string, string>>,
  current: string,
  newState: OnChainState,
): NextStep<Action | CommonAction> {
  const action = named(actions, current);
  const cell = table[action].split(" ")[ON_CHAIN_STATES.indexOf(newState)] ?? "";
  const [step = "", note = step] = cell.split("/");
  const error = notes[note] ?? null;
  switch (step) {
    case "=":
      return { action, error };
    case "ext":
      return { action: "WaitingForExternalAction", error };
    case "end":
      return { action: "None", error };
    case "req":
      return { action: named(actions, action.replace(/Initiated$/, "Requested")), error };
    default:
      return { action: "WaitingForManualAction", error };
  }
}

function named<Action extends string>(actions: readonly Action[], name: string): Action {
  const action = actions.find((one) => one === name);
  if (action === undefined) throw new RangeError(`unknown action: ${name}`);
  return action;
}

/**
 * The state that a spend brings an escrow to; null when the redeemer is none of the contract's, or
 * one that must continue the escrow and does not.
 *
 * @param redeemer - constructor number
 * @param next - of the output that continues the escrow; null when none does
 * @param amountsMatch - whether that output still holds what was agreed
 */
export function stateAfter(
  redeemer: number,
  next: { state: OnChainState; resultHash: string | null } | null,
  amountsMatch: boolean,
): OnChainState | null {
  if (redeemer === REDEEMERS.Withdraw) return "Withdrawn";
  if (redeemer === REDEEMERS.WithdrawRefund) return "RefundWithdrawn";
  if (redeemer === REDEEMERS.WithdrawDisputed) return "DisputedWithdrawn";
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
  return (
    redeemer === REDEEMERS.Withdraw ||
    redeemer === REDEEMERS.WithdrawRefund ||
    redeemer === REDEEMERS.WithdrawDisputed
  );
}

/** Who pays the fee of a step: the party that takes it; an administrator's is charged to no party. */
export function feePayer(redeemer: number): "seller" | "buyer" | null {
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
