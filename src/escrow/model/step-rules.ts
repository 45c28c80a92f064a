/** Who may do what with an escrow, when, and what becomes of it: `docs/escrow-contract.md`, in one table. */
import type { DatumState } from "../../chain/contracts/escrow-datum.ts";
import { REDEEMERS } from "../../chain/contracts/redeemers.ts";
import type { OnChainState, PaymentSourceType } from "../../chain/network.ts";
import type { Party } from "./escrow-record.ts";
import type { Step } from "./intent.ts";

/** A time of an escrow: `null` binds nothing. */
export type TimeBound =
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
  notBefore: TimeBound;
  /** It ends before this time. */
  deadline: TimeBound;
}

export interface StepRule {
  /** Whose key signs. */
  signer: Party;
  /** Constructor number; null of a lock, which spends no escrow. */
  redeemer: number | null;
  /** What becomes of the result; left out: it stays. */
  result?: "given" | "cleared";
  /** One from each state out of which the step is possible. */
  transitions: readonly Transition[];
}

type StateChange = readonly [from: OnChainState | null, to: DatumState | null];

const createTransitions = (
  notBefore: TimeBound,
  deadline: TimeBound,
  ...changes: readonly StateChange[]
): Transition[] => changes.map(([from, to]) => ({ from, to, notBefore, deadline }));

type StepRules = Partial<Record<Step, StepRule>>;

const COMMON_RULES: StepRules = {
  FundsLocking: {
    signer: "buyer",
    redeemer: null,
    transitions: createTransitions(null, "payByTime", [null, "FundsLocked"]),
  },
  SubmitResult: {
    signer: "seller",
    redeemer: REDEEMERS.SubmitResult,
    result: "given",
    transitions: [
      ...createTransitions(
        "sellerCooldown",
        "submitResultTime",
        ["FundsLocked", "ResultSubmitted"],
        ["RefundRequested", "Disputed"],
      ),
      ...createTransitions(
        "sellerCooldown",
        "externalDisputeUnlockTime",
        ["ResultSubmitted", "ResultSubmitted"],
        ["Disputed", "Disputed"],
      ),
    ],
  },
  SetRefundRequested: {
    signer: "buyer",
    redeemer: REDEEMERS.SetRefundRequested,
    transitions: createTransitions(
      "buyerCooldown",
      "unlockTime",
      ["FundsLocked", "RefundRequested"],
      ["ResultSubmitted", "Disputed"],
      ["Disputed", "Disputed"],
    ),
  },
};

const WITHDRAW_RULE: StepRule = {
  signer: "seller",
  redeemer: REDEEMERS.Withdraw,
  transitions: createTransitions("unlockTime", null, ["ResultSubmitted", null]),
};
const WITHDRAW_REFUND_RULE: StepRule = {
  signer: "buyer",
  redeemer: REDEEMERS.WithdrawRefund,
  transitions: createTransitions(
    "submitResultTime",
    null,
    ["FundsLocked", null],
    ["RefundRequested", null],
  ),
};

const STEP_RULES: Record<PaymentSourceType, StepRules> = {
  Web3ChainV1: {
    ...COMMON_RULES,
    UnSetRefundRequested: {
      signer: "buyer",
      redeemer: REDEEMERS.UnSetRefundRequested,
      transitions: createTransitions(
        "buyerCooldown",
        null,
        ["RefundRequested", "FundsLocked"],
        ["Disputed", "ResultSubmitted"],
      ),
    },
    AuthorizeRefund: {
      signer: "seller",
      redeemer: REDEEMERS.AuthorizeRefund,
      result: "cleared",
      transitions: createTransitions("sellerCooldown", null, ["Disputed", "RefundRequested"]),
    },
    Withdraw: WITHDRAW_RULE,
    WithdrawRefund: WITHDRAW_REFUND_RULE,
  },
  Web3ChainV2: {
    ...COMMON_RULES,
    AuthorizeWithdrawal: {
      signer: "buyer",
      redeemer: REDEEMERS.AuthorizeWithdrawal,
      transitions: createTransitions("buyerCooldown", null, ["Disputed", "WithdrawAuthorized"]),
    },
    AuthorizeRefund: {
      signer: "seller",
      redeemer: REDEEMERS.AuthorizeRefund,
      result: "cleared",
      transitions: createTransitions(
        "sellerCooldown",
        null,
        ["FundsLocked", "RefundAuthorized"],
        ["ResultSubmitted", "RefundAuthorized"],
        ["RefundRequested", "RefundAuthorized"],
        ["Disputed", "RefundAuthorized"],
      ),
    },
    Withdraw: {
      ...WITHDRAW_RULE,
      transitions: [
        ...WITHDRAW_RULE.transitions,
        ...createTransitions(null, null, ["WithdrawAuthorized", null]),
      ],
    },
    WithdrawRefund: {
      ...WITHDRAW_REFUND_RULE,
      transitions: [
        ...WITHDRAW_REFUND_RULE.transitions,
        ...createTransitions(null, null, ["RefundAuthorized", null]),
      ],
    },
  },
};

/** The rule of a step; undefined where the contract's version has no such step. */
export function ruleOf(step: Step, type: PaymentSourceType): StepRule | undefined {
  return STEP_RULES[type][step];
}

/** The steps that have to be done before a time of the escrow's, by the state that they are taken in. */
export function listTimedSteps(): {
  step: Step;
  from: OnChainState;
  deadline: Exclude<TimeBound, null>;
}[] {
  return Object.entries(COMMON_RULES).flatMap(([step, { transitions }]) =>
    transitions.flatMap(({ from, deadline }) =>
      from === null || deadline === null ? [] : [{ step: step as Step, from, deadline }],
    ),
  );
}

/** All steps that a party of a version's escrows may take. */
export function rulesOf(type: PaymentSourceType): StepRule[] {
  return Object.values(STEP_RULES[type]);
}

/** What a step does out of a state; undefined: it is not possible there. */
export function transitionOf(
  rule: StepRule | undefined,
  state: OnChainState | null,
): Transition | undefined {
  return rule?.transitions.find((one) => one.from === state);
}
