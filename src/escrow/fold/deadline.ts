import { windowOf } from "../actions/windows.ts";
import type { EscrowRecord } from "../record.ts";
import type { Step } from "../wanted.ts";

/** A time before which something of ours must be done for an escrow. */
export interface Deadline {
  /** What must be done: a step that was asked for, or the result that a seller owes. */
  step: Step;
  /** Epoch milliseconds of the chain. */
  at: number;
}

/** The deadline that stands before a record with something undone; null: nothing of ours is. */
export function deadlineOf(record: EscrowRecord): Deadline | null {
  const step = undoneStep(record);
  const at = step && windowOf(record, step)?.deadline;
  return step && at ? { step, at } : null;
}

function undoneStep({ side, state, wanted }: EscrowRecord): Step | null {
  if (wanted.want !== null) return wanted.want.step;
  const isOwed = state.onChainState === "FundsLocked" || state.onChainState === "RefundRequested";
  return side === "payment" && isOwed && state.resultHash === "" ? "SubmitResult" : null;
}

/** The same until it was warned of. @returns epoch milliseconds */
export function deadlineToWarnOf(record: EscrowRecord): number | null {
  const at = deadlineOf(record)?.at ?? null;
  return at === record.warnedOf ? null : at;
}
