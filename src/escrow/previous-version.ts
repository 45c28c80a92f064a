/**
 * The version before this one kept the next action in `state`, and knows no other column of what is
 * wanted. While both run, each leaves it there for the other. To go, with the member, once no
 * isolate of that version is left and every row was written since.
 */
import type { ChainState } from "./record.ts";
import {
  type NextAction,
  nextActionOf,
  type RecordError,
  type Standing,
  type Wanted,
} from "./wanted.ts";

/** The member of `state` that the previous version reads and writes. */
export interface Shown {
  /** `since`: epoch milliseconds. */
  nextAction: NextAction & { since: number };
}

/** What this version leaves there. */
export function shownTo(record: Standing & { actionChangedAt: number }): Shown {
  return { nextAction: { ...nextActionOf(record), since: record.actionChangedAt } };
}

/**
 * What is wanted of a record that the previous version may have written last: then it shows another
 * action than the columns do. That version asks for nothing; it ends steps, and sets errors.
 */
export function wantedLeftBy(
  shown: Shown["nextAction"],
  state: Pick<ChainState, "onChainState" | "transaction">,
  stored: Wanted,
): Wanted {
  const { onChainState, transaction } = state;
  const known = nextActionOf({ state, wanted: stored });
  const names = ["requestedAction", "errorType", "errorNote"] as const;
  if (names.every((name) => known[name] === shown[name])) return stored;
  const { want, underWay } = stored;
  const error = errorOf(shown, transaction?.txHash ?? null);
  const isOpen = want !== null && shown.requestedAction.startsWith(want.step);
  const isUnderWay = isOpen && shown.requestedAction.endsWith("Initiated");
  return {
    want: isOpen || error?.isManual ? want : null,
    underWay: isUnderWay ? underWay : null,
    error,
    expiredAt: onChainState === null ? stored.expiredAt : null,
  };
}

/** The error that the previous version shows with an action, caused by a transaction. */
export function errorOf(
  { requestedAction, errorType, errorNote }: NextAction,
  txHash: string | null,
): RecordError | null {
  const isManual = requestedAction === "WaitingForManualAction";
  if (errorType === null && errorNote === null && !isManual) return null;
  return { isManual, type: errorType ?? "Unknown", note: errorNote ?? "", txHash };
}
