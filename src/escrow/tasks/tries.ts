/** What becomes of what is wanted of a record when a try fails: pure. */
import { pauseAfter } from "../../wallets/pauses.ts";
import { addNote } from "../record.ts";
import { AUTOMATIC, type RecordError, type Wanted } from "../wanted.ts";

/**
 * A step that failed so often ends. A lock is tried until its time is over, and what comes by itself for
 * ever: nobody else would ask for it again.
 */
const MAX_TRIES = 10;

/**
 * What is wanted after a try that failed: the same after a growing pause, or nothing any more.
 *
 * @param reason - for people
 * @param now - epoch milliseconds
 */
export function afterTry(wanted: Wanted, reason: string, now: number): Wanted {
  const { want } = wanted;
  if (want === null) return wanted;
  const failures = (want.failures ?? 0) + 1;
  const mayEnd = want.step !== "FundsLocking" && want.by !== AUTOMATIC;
  if (failures >= MAX_TRIES && mayEnd)
    return ended(wanted, `${want.step} failed ${failures} times, the last time: ${reason}`);
  const again = { ...want, failures, tryAt: now + pauseAfter(failures) };
  return { ...wanted, want: again, underWay: null };
}

/** The want ends, and the record says why: nobody waits for it in silence. */
export function ended(wanted: Wanted, reason: string): Wanted {
  const { want } = wanted;
  const error = { ...problem(reason), ...(want !== null && { ended: want }) };
  return { ...wanted, want: null, underWay: null, error };
}

/** An error that goes by itself, or with the next thing that is asked for. */
export function problem(
  note: string,
  type: "Unknown" | "InsufficientFunds" = "Unknown",
): RecordError {
  return { isManual: false, type, note: addNote(null, note), txHash: null };
}
