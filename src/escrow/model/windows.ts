/** When the contract allows which step. */
import type { OnChainState, PaymentSourceType } from "../../chain/network.ts";
import type { EscrowRecord, Party } from "./escrow-record.ts";
import type { Step } from "./intent.ts";
import { ruleOf, rulesOf, type TimeBound, transitionOf } from "./step-rules.ts";

/** The end of the year 9999, epoch milliseconds: no date is printed beyond, and nothing waits longer. */
export const MAX_TIMESTAMP_MS = Date.UTC(10_000, 0, 1) - 1;

/** When a step may be done, epoch milliseconds of the chain; null: nothing binds it. */
export interface StepWindow {
  /** The lower bound of the validity is at or after it. */
  notBefore: number | null;
  /** The upper bound of the validity is before it. */
  deadline: number | null;
}

type TimedRecord = Pick<EscrowRecord, "sourceType" | "terms" | "state">;

/** A time of a record, epoch milliseconds; one beyond what a number holds is some later time. */
function timeOf({ terms, state }: TimedRecord, bound: TimeBound): number | null {
  if (bound === null) return null;
  return Number(
    bound === "buyerCooldown" || bound === "sellerCooldown" ? state[bound] : terms[bound],
  );
}

/** Whether the service can take a step in a state, at any time. */
export function isStepPossible(
  step: Step,
  state: OnChainState | null,
  type: PaymentSourceType,
): boolean {
  return transitionOf(ruleOf(step, type), state) !== undefined;
}

/** The state that a step leads to; null: it is not possible there. */
export function computeStateAfterStep(
  step: Step,
  state: OnChainState | null,
  type: PaymentSourceType,
): OnChainState | null {
  const transition = transitionOf(ruleOf(step, type), state);
  if (transition === undefined) return null;
  return transition.to ?? (step === "Withdraw" ? "Withdrawn" : "RefundWithdrawn");
}

/**
 * When a step is possible in a record's state. Null: never. The state does not allow it, or it
 * could begin only after its end or after the year 9999.
 */
export function windowOf(record: TimedRecord, step: Step): StepWindow | null {
  const rule = ruleOf(step, record.sourceType);
  const transition = transitionOf(rule, record.state.onChainState);
  if (transition === undefined) return null;
  // No cooldown is one that was over in 1970.
  const notBefore = timeOf(record, transition.notBefore) || null;
  const deadline = timeOf(record, transition.deadline);
  const earliest = notBefore ?? 0;
  const isNever = earliest > MAX_TIMESTAMP_MS || (deadline !== null && earliest >= deadline);
  return isNever ? null : { notBefore, deadline };
}

/** When a step cannot be done any more, whatever state returns; null: it always may be. */
export function findLastDeadline(record: TimedRecord, step: Step): number | null {
  const deadlines = (ruleOf(step, record.sourceType)?.transitions ?? []).map(({ deadline }) =>
    timeOf(record, deadline),
  );
  return deadlines.reduce(
    (last, one) => (last === null || one === null ? null : Math.max(last, one)),
    0,
  );
}

/**
 * Whether the other party, or administrators, may spend an escrow between two times.
 *
 * @param from - epoch milliseconds of the chain, like `to`
 */
export function canBeSpentByOthers(
  record: TimedRecord,
  by: Party,
  { from, to }: { from: number; to: number },
): boolean {
  const { onChainState } = record.state;
  if (onChainState === null) return false;
  const isOpen = (notBefore: TimeBound, deadline: TimeBound) =>
    (timeOf(record, notBefore) ?? 0) < to && (timeOf(record, deadline) ?? to) > from;
  if (onChainState === "Disputed" && isOpen("externalDisputeUnlockTime", null)) return true;
  return rulesOf(record.sourceType)
    .filter((rule) => rule.signer !== by)
    .flatMap((rule) => transitionOf(rule, onChainState) ?? [])
    .some(({ notBefore, deadline }) => isOpen(notBefore, deadline));
}
