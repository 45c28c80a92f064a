import {
  type BudgetState,
  CALL_CLASSES,
  type CallClass,
  countCallsToday,
  leaseCalls,
  type Quota,
} from "./budget.ts";

/** What is left of a provider key's calls, and for whom. Times are epoch milliseconds. */
export interface BudgetReport extends Quota {
  /** Calls granted in this UTC day. */
  usedToday: number;
  /** No calls are made before this; null: they are. */
  stoppedUntil: number | null;
  classes: {
    class: CallClass;
    usedToday: number;
    /** Calls that it would be given at once; as a caller's, an API key that had none lately. */
    availableNow: number;
    /** When it would be given one, if the others asked for nothing; null: now. */
    availableAt: number | null;
  }[];
}

/** More than any burst. */
const UNBOUNDED_CALLS = 1_000_000;
/** No API key has this id. */
const NO_KEY_ID = "";

/** Asks the budget as each class would, and takes nothing. @param now - epoch milliseconds */
export function createBudgetReport(state: BudgetState, quota: Quota, now: number): BudgetReport {
  const used = countCallsToday(state, now);
  const classes = (Object.keys(CALL_CLASSES) as CallClass[]).map((by) => {
    const { lease } = leaseCalls(state, quota, { calls: UNBOUNDED_CALLS, by, key: NO_KEY_ID }, now);
    return {
      class: by,
      usedToday: used[by] ?? 0,
      availableNow: lease.granted,
      availableAt: lease.retryAt,
    };
  });
  return {
    ...quota,
    usedToday: classes.reduce((sum, { usedToday }) => sum + usedToday, 0),
    stoppedUntil: state.stoppedUntil > now ? state.stoppedUntil : null,
    classes,
  };
}
