import { isStepPossible, LAST_TIME, lastDeadline, windowOf } from "../actions/windows.ts";
import { NOT_WORTH } from "../actions/worth.ts";
import type { EscrowRecord } from "../record.ts";
import { AUTOMATIC, type Step, type Want } from "../wanted.ts";

/** How long after a deadline a step is over: as long as a block may take to be seen. */
export const OVER_MS = 120_000;

/**
 * When the wallet that acts for a record has something to do for it: what is wanted may begin, or can
 * never be done, or else the step that comes by itself may begin. Null: nothing, as far as is known.
 *
 * @returns epoch milliseconds of the chain
 */
export function dueAt(record: EscrowRecord): number | null {
  const { sourceType, state, wanted } = record;
  const { want, underWay, error } = wanted;
  if (underWay !== null || error?.isManual || record.isWalletRemoved) return null;
  if (want === null) {
    const step = stepByItself(record);
    // It was looked at, and said; what the escrow holds by now has to change first.
    if (step === "Withdraw" && error?.note === NOT_WORTH) return null;
    const window = step && windowOf(record, step);
    return window && (window.notBefore ?? 0);
  }
  if (isStepPossible(want.step, state.onChainState, sourceType)) {
    const begins = windowOf(record, want.step)?.notBefore ?? 0;
    return Math.max(begins, want.since, want.tryAt ?? 0);
  }
  return waitsUntil(record, want);
}

/**
 * Until when a want waits for a state to return that a rollback took back: as long as that is of use. One
 * without a deadline must not keep from its end what comes by itself, and waits no longer than the last time
 * that was agreed. What came by itself does not wait: the state that returns brings it again.
 *
 * @returns epoch milliseconds of the chain
 */
export function waitsUntil(record: EscrowRecord, want: Want): number {
  if (want.by === AUTOMATIC) return want.since;
  const step = stepByItself(record);
  const { payByTime, externalDisputeUnlockTime } = record.terms;
  // No lock returns after its pay-by time.
  const isGone = record.state.onChainState === null;
  const last = isGone
    ? Number(payByTime)
    : (lastDeadline(record, want.step) ?? (step && windowOf(record, step)?.notBefore));
  return Math.min(last ?? Number(externalDisputeUnlockTime), LAST_TIME) + OVER_MS;
}

/** The step that ends an escrow when nobody asks for anything. */
export function stepByItself({ side, state }: Pick<EscrowRecord, "side" | "state">): Step | null {
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
