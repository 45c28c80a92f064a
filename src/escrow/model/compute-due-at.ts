import type { EscrowRecord } from "./escrow-record.ts";
import { AUTOMATIC_REQUESTER, type Intent, type Step } from "./intent.ts";
import { NOT_WORTH_WITHDRAWING_NOTE } from "./is-worth-withdrawing.ts";
import { findLastDeadline, isStepPossible, MAX_TIMESTAMP_MS, windowOf } from "./windows.ts";

/** How long after a deadline a step is over: as long as a block may take to be seen. */
export const DEADLINE_MARGIN_MS = 120_000;

/**
 * When the acting wallet has something to do for a record. The intent may begin, or has become
 * impossible, or the automatic step may begin. Null: the wallet has nothing to do, as far as is
 * known.
 *
 * @returns epoch milliseconds of the chain
 */
export function computeDueAt(record: EscrowRecord): number | null {
  const { sourceType, state, progress } = record;
  const { intent, pendingTransaction, error } = progress;
  if (pendingTransaction !== null || error?.isManual || record.isWalletRemoved) return null;
  if (intent === null) {
    const step = findAutomaticStep(record);
    // It was looked at, and said; what the escrow holds by now has to change first.
    if (step === "Withdraw" && error?.note === NOT_WORTH_WITHDRAWING_NOTE) return null;
    const window = step && windowOf(record, step);
    return window && (window.notBefore ?? 0);
  }
  if (isStepPossible(intent.step, state.onChainState, sourceType)) {
    const begins = windowOf(record, intent.step)?.notBefore ?? 0;
    return Math.max(begins, intent.since, intent.tryAt ?? 0);
  }
  return computeIntentExpiry(record, intent);
}

/**
 * How long an intent waits for a state that a rollback took back. An intent without a deadline must
 * not delay the automatic end of the escrow. It waits no longer than the last agreed time. An
 * automatic intent does not wait, because the returning state creates it again.
 *
 * @returns epoch milliseconds of the chain
 */
export function computeIntentExpiry(record: EscrowRecord, intent: Intent): number {
  if (intent.by === AUTOMATIC_REQUESTER) return intent.since;
  const step = findAutomaticStep(record);
  const { payByTime, externalDisputeUnlockTime } = record.terms;
  // No lock returns after its pay-by time.
  const isGone = record.state.onChainState === null;
  const last = isGone
    ? Number(payByTime)
    : (findLastDeadline(record, intent.step) ?? (step && windowOf(record, step)?.notBefore));
  return Math.min(last ?? Number(externalDisputeUnlockTime), MAX_TIMESTAMP_MS) + DEADLINE_MARGIN_MS;
}

/** The step that ends an escrow when nobody asks for anything. */
export function findAutomaticStep({
  side,
  state,
}: Pick<EscrowRecord, "side" | "state">): Step | null {
  const { onChainState, resultHash } = state;
  if (side === "payment")
    return onChainState === "ResultSubmitted" || onChainState === "WithdrawAuthorized"
      ? "Withdraw"
      : null;
  const isWithout = onChainState === "FundsLocked" || onChainState === "RefundRequested";
  return (isWithout && resultHash === "") || onChainState === "RefundAuthorized"
    ? "WithdrawRefund"
    : null;
}

/** A time before which the service must act on an escrow. */
export interface Deadline {
  /** What must be done: a step that was asked for, or the result that a seller owes. */
  step: Step;
  /** Epoch milliseconds of the chain. */
  time: number;
}

/** The next deadline of the service for a record. Null: none. */
export function deadlineOf(record: EscrowRecord): Deadline | null {
  const step = findOutstandingStep(record);
  const at = step && windowOf(record, step)?.deadline;
  return step && at ? { step, time: at } : null;
}

function findOutstandingStep({ side, state, progress }: EscrowRecord): Step | null {
  if (progress.intent !== null) return progress.intent.step;
  const isOwed = state.onChainState === "FundsLocked" || state.onChainState === "RefundRequested";
  return side === "payment" && isOwed && state.resultHash === "" ? "SubmitResult" : null;
}

/** The same until it was warned of. @returns epoch milliseconds */
export function findUnwarnedDeadline(record: EscrowRecord): number | null {
  const at = deadlineOf(record)?.time ?? null;
  return at === record.lastDeadlineWarning ? null : at;
}
