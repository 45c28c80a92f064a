/** What becomes of what is wanted of a record when a try fails: pure. */
import { computeRetryDelay } from "../../wallets/queue/backoff.ts";
import { addNote } from "../model/escrow-record.ts";
import {
  AUTOMATIC_REQUESTER,
  type Intent,
  type Progress,
  type RecordError,
} from "../model/intent.ts";

/**
 * Failed tries after which a requested step ends. A lock is retried until its pay-by time, an automatic step
 * forever, since nobody requests it again.
 */
const MAX_ATTEMPTS = 10;

/**
 * What is wanted after a try that failed: the same after a growing pause, or nothing any more.
 *
 * @param reason - for people
 * @param now - epoch milliseconds
 */
export function retryIntent(progress: Progress, reason: string, now: number): Progress {
  const { intent } = progress;
  if (intent === null) return progress;
  const failures = (intent.failures ?? 0) + 1;
  const mayEnd = intent.step !== "FundsLocking" && intent.by !== AUTOMATIC_REQUESTER;
  if (failures >= MAX_ATTEMPTS && mayEnd)
    return endIntent(progress, `${intent.step} failed ${failures} times, the last time: ${reason}`);
  const tryAt = now + computeRetryDelay(failures);
  const again: Intent = { ...intent, failures, tryAt, reasonCode: "failing" };
  return { ...progress, intent: again, pendingTransaction: null };
}

/** The want ends, and the record says why: nobody waits for it in silence. */
export function endIntent(progress: Progress, reason: string): Progress {
  const { intent } = progress;
  const error = toRecordError(reason);
  if (intent !== null) error.endedIntent = intent;
  return { ...progress, intent: null, pendingTransaction: null, error };
}

/** Builds an error that the next request, or the next success, clears. */
export function toRecordError(
  note: string,
  type: "Unknown" | "InsufficientFunds" = "Unknown",
): RecordError {
  return { isManual: false, type, note: addNote(null, note), txHash: null };
}
