/** When the contract allows which step: `docs/escrow-contract.md`, in one table. */
import type { OnChainState, PaymentSourceType } from "../../chain/network.ts";
import type { EscrowRecord } from "../record.ts";
import type { Step } from "../wanted.ts";

/** A time of an escrow: `null` binds nothing. */
type Bound =
  | "payByTime"
  | "submitResultTime"
  | "unlockTime"
  | "externalDisputeUnlockTime"
  | "buyerCooldown"
  | "sellerCooldown"
  | null;

interface Rule {
  /** Null: before the lock. */
  from: readonly (OnChainState | null)[];
  /** The transaction's validity begins at this time or later. */
  notBefore: Bound;
  /** It ends before this time. */
  deadline: Bound;
}

const SUBMIT: Omit<Rule, "from"> = { notBefore: "sellerCooldown", deadline: "submitResultTime" };
const REPLACE: Omit<Rule, "from"> = { ...SUBMIT, deadline: "externalDisputeUnlockTime" };
const AT_ONCE: Omit<Rule, "from"> = { notBefore: null, deadline: null };

/** The first row with a record's state counts; where none has it, the step is not possible. */
const RULES: Record<Step, Rule[]> = {
  FundsLocking: [{ from: [null], notBefore: null, deadline: "payByTime" }],
  SubmitResult: [
    { from: ["FundsLocked", "RefundRequested"], ...SUBMIT },
    { from: ["ResultSubmitted", "Disputed"], ...REPLACE },
  ],
  SetRefundRequested: [
    {
      from: ["FundsLocked", "ResultSubmitted", "Disputed"],
      notBefore: "buyerCooldown",
      deadline: "unlockTime",
    },
  ],
  UnSetRefundRequested: [
    { from: ["RefundRequested", "Disputed"], notBefore: "buyerCooldown", deadline: null },
  ],
  AuthorizeWithdrawal: [{ from: ["Disputed"], notBefore: "buyerCooldown", deadline: null }],
  AuthorizeRefund: [{ from: ["Disputed"], notBefore: "sellerCooldown", deadline: null }],
  Withdraw: [
    { from: ["ResultSubmitted"], notBefore: "unlockTime", deadline: null },
    { from: ["WithdrawAuthorized"], ...AT_ONCE },
  ],
  WithdrawRefund: [
    { from: ["FundsLocked", "RefundRequested"], notBefore: "submitResultTime", deadline: null },
    { from: ["RefundAuthorized"], ...AT_ONCE },
  ],
};
/** What Web3ChainV2 allows beyond. */
const RULES_V2: Partial<Record<Step, Rule[]>> = {
  AuthorizeRefund: [
    {
      from: ["FundsLocked", "ResultSubmitted", "RefundRequested", "Disputed"],
      notBefore: "sellerCooldown",
      deadline: null,
    },
  ],
};

/** The end of the year 9999, epoch milliseconds: no date is printed beyond, and nothing waits longer. */
const LAST_TIME = Date.UTC(10_000, 0, 1) - 1;

/** When a step may be done, epoch milliseconds of the chain; null: nothing binds it. */
export interface Window {
  /** The lower bound of the validity is at or after it. */
  notBefore: number | null;
  /** The upper bound of the validity is before it. */
  deadline: number | null;
}

function rulesOf(step: Step, type: PaymentSourceType): Rule[] {
  return (type === "Web3ChainV2" && RULES_V2[step]) || RULES[step];
}

function ruleOf(step: Step, state: OnChainState | null, type: PaymentSourceType): Rule | undefined {
  return rulesOf(step, type).find(({ from }) => from.includes(state));
}

type Timed = Pick<EscrowRecord, "sourceType" | "terms" | "state">;

/** A time of a record, epoch milliseconds; one beyond what a number holds is some later time. */
function timeOf({ terms, state }: Timed, bound: Bound): number | null {
  return bound === null ? null : Number({ ...terms, ...state }[bound]);
}

/** Whether a step of ours can be done in a state. Its times are not considered. */
export function isStepPossible(
  step: Step,
  state: OnChainState | null,
  type: PaymentSourceType,
): boolean {
  return ruleOf(step, state, type) !== undefined;
}

/**
 * When a step may be done in a record's state; null: never, since the state does not allow it, or it
 * could begin only after its end, or after the year 9999.
 */
export function windowOf(record: Timed, step: Step): Window | null {
  const rule = ruleOf(step, record.state.onChainState, record.sourceType);
  if (rule === undefined) return null;
  const [notBefore, deadline] = [timeOf(record, rule.notBefore), timeOf(record, rule.deadline)];
  const earliest = notBefore ?? 0;
  const isNever = earliest > LAST_TIME || (deadline !== null && earliest >= deadline);
  return isNever ? null : { notBefore, deadline };
}

/** When a step cannot be done any more, whatever state returns; null: it always may be. */
export function lastDeadline(record: Timed, step: Step): number | null {
  const deadlines = rulesOf(step, record.sourceType).map(({ deadline }) =>
    timeOf(record, deadline),
  );
  return deadlines.reduce(
    (last, one) => (last === null || one === null ? null : Math.max(last, one)),
    0,
  );
}
