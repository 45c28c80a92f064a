import { ApiError } from "../../http/errors.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const LONGEST = 365 * 24 * HOUR;

/** The four times of an escrow, epoch milliseconds. */
export interface EscrowTimes {
  payByTime: number;
  submitResultTime: number;
  unlockTime: number;
  externalDisputeUnlockTime: number;
}

/** The times as terms hold them. */
export function storedTimes(times: EscrowTimes): Record<keyof EscrowTimes, string> {
  const { payByTime, submitResultTime, unlockTime, externalDisputeUnlockTime } = times;
  return {
    payByTime: String(payByTime),
    submitResultTime: String(submitResultTime),
    unlockTime: String(unlockTime),
    externalDisputeUnlockTime: String(externalDisputeUnlockTime),
  };
}

/** The times of a quote: where it says nothing, unlock is 6 hours after the result, disputes are 12. */
export function withDefaults({
  payByTime,
  submitResultTime,
  unlockTime = submitResultTime + 6 * HOUR,
  externalDisputeUnlockTime = submitResultTime + 12 * HOUR,
}: Pick<EscrowTimes, "payByTime" | "submitResultTime"> & {
  unlockTime?: number | undefined;
  externalDisputeUnlockTime?: number | undefined;
}): EscrowTimes {
  return { payByTime, submitResultTime, unlockTime, externalDisputeUnlockTime };
}

/**
 * Checks that an escrow's times leave everybody the time to act.
 *
 * @param now - epoch milliseconds
 * @throws ApiError 400 that names the field, and the first or last time that is right
 */
export function checkTimes(times: EscrowTimes, now: number): void {
  const { payByTime, submitResultTime, unlockTime, externalDisputeUnlockTime } = times;
  if (payByTime > submitResultTime - 5 * MINUTE)
    throw tooLate("payByTime", submitResultTime - 5 * MINUTE, "5 minutes before submitResultTime");
  if (payByTime < now + 2 * MINUTE)
    throw tooEarly("payByTime", now + 2 * MINUTE, "2 minutes ahead");
  if (externalDisputeUnlockTime < unlockTime + 15 * MINUTE)
    throw tooEarly(
      "externalDisputeUnlockTime",
      unlockTime + 15 * MINUTE,
      "15 minutes after unlockTime",
    );
  if (submitResultTime < now + 15 * MINUTE)
    throw tooEarly("submitResultTime", now + 15 * MINUTE, "15 minutes ahead");
  if (submitResultTime > unlockTime - 15 * MINUTE)
    throw tooLate("submitResultTime", unlockTime - 15 * MINUTE, "15 minutes before unlockTime");
  for (const [field, time] of Object.entries(times))
    if (time > now + LONGEST) throw tooLate(field, now + LONGEST, "a year ahead");
}

function tooEarly(field: string, first: number, why: string): ApiError {
  return new ApiError(400, `${field}: must be at least ${why}, from ${isoTime(first)} on`);
}

function tooLate(field: string, last: number, why: string): ApiError {
  return new ApiError(400, `${field}: must be at most ${why}, up to ${isoTime(last)}`);
}

/** A bound may lie beyond what a date can print. */
function isoTime(milliseconds: number): string {
  const date = new Date(milliseconds);
  return Number.isNaN(date.getTime()) ? `${milliseconds} ms` : date.toISOString();
}

/** Shorter than two cooldowns and the blocks between them, a buyer may have no time to object. */
const SHORT_OF_DISPUTE = 45 * MINUTE;

/** What is allowed but not advisable about an escrow's times. */
export function timeWarnings({ submitResultTime, unlockTime }: EscrowTimes): string[] {
  if (unlockTime - submitResultTime >= SHORT_OF_DISPUTE) return [];
  return [
    "unlockTime: is less than 45 minutes after submitResultTime, so a buyer may be unable to object to a late result",
  ];
}
