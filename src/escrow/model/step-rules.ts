/** Who may do what with an escrow, when, and what becomes of it: `docs/escrow-contract.md`, in one table. */
import type { DatumState } from "../../chain/contracts/escrow-datum.ts";
import { REDEEMERS } from "../../chain/contracts/redeemers.ts";
import type { OnChainState, PaymentSourceType } from "../../chain/network.ts";
import type { Step } from "./intent.ts";

export type Party = "buyer" | "seller";

/** A time of an escrow: `null` binds nothing. */
export type Bound =
  | "payByTime"
  | "submitResultTime"
  | "unlockTime"
  | "externalDisputeUnlockTime"
  | "buyerCooldown"
  | "sellerCooldown"
  | null;

interface Transition {
  /** Null: before the lock. */
  from: OnChainState | null;
  /** Null: the escrow ends. */
  to: DatumState | null;
  /** The transaction's validity begins at this time or later. */
  notBefore: Bound;
  /** It ends before this time. */
  deadline: Bound;
}

export interface StepRule {
  /** Whose key signs. */
  by: Party;
  /** Constructor number; null of a lock, which spends no escrow. */
  redeemer: number | null;
  /** What becomes of the result; left out: it stays. */
  result?: "given" | "cleared";
  /** One from each state out of which the step is possible. */
  transitions: readonly Transition[];
}

type Moves = readonly (readonly [from: OnChainState | null, to: DatumState | null])[];
type Times = Pick<Transition, "notBefore" | "deadline">;

const within = ({ notBefore, deadline }: Times, ...moves: Moves): Transition[] =>
  moves.map(([from, to]) => ({ from, to, notBefore, deadline }));

const AT_ONCE: Times = { notBefore: null, deadline: null };
const from = (notBefore: Bound): Times => ({ notBefore, deadline: null });

type Rules = Partial<Record<Step, StepRule>>;

const OF_BOTH: Rules = {
  FundsLocking: {
    by: "buyer",
    redeemer: null,
    transitions: within({ notBefore: null, deadline: "payByTime" }, [null, "FundsLocked"]),
  },
  SubmitResult: {
    by: "seller",
    redeemer: REDEEMERS.SubmitResult,
    result: "given",
    transitions: [
      ...within(
        { notBefore: "sellerCooldown", deadline: "submitResultTime" },
        ["FundsLocked", "ResultSubmitted"],
        ["RefundRequested", "Disputed"],
      ),
      ...within(
        { notBefore: "sellerCooldown", deadline: "externalDisputeUnlockTime" },
        ["ResultSubmitted", "ResultSubmitted"],
        ["Disputed", "Disputed"],
      ),
    ],
  },
  SetRefundRequested: {
    by: "buyer",
    redeemer: REDEEMERS.SetRefundRequested,
    transitions: within(
      { notBefore: "buyerCooldown", deadline: "unlockTime" },
      ["FundsLocked", "RefundRequested"],
      ["ResultSubmitted", "Disputed"],
      ["Disputed", "Disputed"],
    ),
  },
};

const WITHDRAW: StepRule = {
  by: "seller",
  redeemer: REDEEMERS.Withdraw,
  transitions: within(from("unlockTime"), ["ResultSubmitted", null]),
};
const WITHDRAW_REFUND: StepRule = {
  by: "buyer",
  redeemer: REDEEMERS.WithdrawRefund,
  transitions: within(from("submitResultTime"), ["FundsLocked", null], ["RefundRequested", null]),
};

const RULES: Record<PaymentSourceType, Rules> = {
  Web3ChainV1: {
    ...OF_BOTH,
    UnSetRefundRequested: {
      by: "buyer",
      redeemer: REDEEMERS.UnSetRefundRequested,
      transitions: within(
        from("buyerCooldown"),
        ["RefundRequested", "FundsLocked"],
        ["Disputed", "ResultSubmitted"],
      ),
    },
    AuthorizeRefund: {
      by: "seller",
      redeemer: REDEEMERS.AuthorizeRefund,
      result: "cleared",
      transitions: within(from("sellerCooldown"), ["Disputed", "RefundRequested"]),
    },
    Withdraw: WITHDRAW,
    WithdrawRefund: WITHDRAW_REFUND,
  },
  Web3ChainV2: {
    ...OF_BOTH,
    AuthorizeWithdrawal: {
      by: "buyer",
      redeemer: REDEEMERS.AuthorizeWithdrawal,
      transitions: within(from("buyerCooldown"), ["Disputed", "WithdrawAuthorized"]),
    },
    AuthorizeRefund: {
      by: "seller",
      redeemer: REDEEMERS.AuthorizeRefund,
      result: "cleared",
      transitions: within(
        from("sellerCooldown"),
        ["FundsLocked", "RefundAuthorized"],
        ["ResultSubmitted", "RefundAuthorized"],
        ["RefundRequested", "RefundAuthorized"],
        ["Disputed", "RefundAuthorized"],
      ),
    },
    Withdraw: {
      ...WITHDRAW,
      transitions: [...WITHDRAW.transitions, ...within(AT_ONCE, ["WithdrawAuthorized", null])],
    },
    WithdrawRefund: {
      ...WITHDRAW_REFUND,
      transitions: [...WITHDRAW_REFUND.transitions, ...within(AT_ONCE, ["RefundAuthorized", null])],
    },
  },
};

/** The rule of a step; undefined where the contract's version has no such step. */
export function ruleOf(step: Step, type: PaymentSourceType): StepRule | undefined {
  return RULES[type][step];
}

/** The steps that have to be done before a time of the escrow's, by the state that they are taken in. */
export function timedSteps(): {
  step: Step;
  from: OnChainState;
  deadline: Exclude<Bound, null>;
}[] {
  return Object.entries(OF_BOTH).flatMap(([step, { transitions }]) =>
    transitions.flatMap(({ from, deadline }) =>
      from === null || deadline === null ? [] : [{ step: step as Step, from, deadline }],
    ),
  );
}

/** All steps that a party of a version's escrows may take. */
export function rulesOf(type: PaymentSourceType): StepRule[] {
  return Object.values(RULES[type]);
}

/** What a step does out of a state; undefined: it is not possible there. */
export function transitionOf(
  rule: StepRule | undefined,
  state: OnChainState | null,
): Transition | undefined {
  return rule?.transitions.find((one) => one.from === state);
}
