/** What becomes of what went wrong with a record when a person decides: pure. */
import { isStepPossible } from "../actions/windows.ts";
import type { EscrowRecord } from "../record.ts";
import { isAbandoned, type Step, type Want, type Wanted } from "../wanted.ts";
import { notInUse, whyNot } from "./judge.ts";

export type Recovery =
  /** It goes on already. */
  | { is: "nothing" }
  | { is: "refused"; reason: string }
  /** `step`: the one that is tried again; null: none is. */
  | { is: "change"; wanted: Wanted; step: Step | null };

const refused = (reason: string): Recovery => ({ is: "refused", reason });

/**
 * Takes an error off a record. A step that was not done is not wanted any more; a lock still is, which only
 * `POST /purchase/cancel` gives up, and so is what is on its way.
 */
export function cleared(record: EscrowRecord): Recovery {
  const { side, wanted } = record;
  const { want, underWay, error } = wanted;
  if (isAbandoned(record)) return refused(notInUse(record));
  if (error === null) return refused(`the ${side} has no error to clear`);
  const stays = underWay !== null || want?.step === "FundsLocking";
  const left = stays && want ? withoutTries(want) : null;
  return { is: "change", wanted: { ...wanted, want: left, error: null }, step: null };
}

/**
 * Has the step that failed, or that waits after tries that did, tried again at once. It is the same want as
 * before, so that a lock which was sent for it, and may land, excludes another one.
 *
 * @param now - epoch milliseconds
 */
export function again(record: EscrowRecord, now: number): Recovery {
  const { side, sourceType, state, wanted } = record;
  const { want, underWay, error, expiredAt } = wanted;
  if (isAbandoned(record)) return refused(notInUse(record));
  const failed = want ?? error?.ended ?? null;
  if (failed === null) return refused(`the ${side} has no step to retry`);
  const isFresh = want?.failures === undefined && want?.tryAt === undefined;
  if (want !== null && error === null && (underWay !== null || isFresh)) return { is: "nothing" };
  const { step } = failed;
  if (step === "FundsLocking" && state.onChainState !== null)
    return refused(`the ${side}'s funds are locked`);
  if (step === "FundsLocking" && expiredAt !== null)
    return refused(`the ${side} can no longer be locked`);
  if (step !== "FundsLocking" && state.onChainState === null)
    return refused(`the ${side}'s funds are not locked`);
  if (underWay === null && !isStepPossible(step, state.onChainState, sourceType))
    return refused(whyNot(record, step, step));
  const asked = { ...withoutTries(failed), since: now };
  return { is: "change", wanted: { ...wanted, want: asked, error: null }, step };
}

function withoutTries({ failures: _, tryAt: __, ...want }: Want): Want {
  return want;
}
