import type { ChainTime } from "../../../chain/chain-time.ts";
import type { Network } from "../../../chain/network.ts";
import {
  computeNextEpochStart,
  firstSlotAtOrAfter,
  slotAt,
  timeOfSlot,
} from "../../../chain/slots.ts";
import type { TransactionPlan } from "../../../chain/transaction/transaction-plan.ts";
import { DeadlinePassedError, RetryLaterError } from "../../queue/errors.ts";
import type { Task } from "../../queue/feature.ts";

/** Slots (seconds) before and after now in which a transaction is valid: allows for clock skew. */
const VALID_BEFORE_SLOTS = 300;
export const VALID_AFTER_SLOTS = 330;
/** Slots that a transaction needs to reach a block. */
const MIN_VALID_SLOTS = 60;

type ValidityWindow = TransactionPlan["validity"];

/**
 * Computes the slots in which a transaction of these tasks is valid, a few minutes at most. The window starts
 * at the latest start and ends at the earliest deadline. It never crosses the end of an epoch, when prices
 * may change.
 *
 * @returns the window, and how many of the tasks share it, at least one.
 * @throws DeadlinePassedError for the first task; RetryLaterError while an epoch ends.
 */
export function computeValidityWindow(
  network: Network,
  tasks: readonly Pick<Task, "notBefore" | "deadline" | "lastStart">[],
  time: ChainTime,
): { validity: ValidityWindow; count: number } {
  const now = slotAt(network, time.latestTime);
  const end = computeNextEpochStart(network, now);
  const first = tasks[0]?.deadline;
  const isDueBefore = first !== undefined && firstSlotAtOrAfter(network, first) <= end;
  if (end - now < MIN_VALID_SLOTS && !isDueBefore)
    throw new RetryLaterError(
      "waits for the next epoch, which may change the fees",
      timeOfSlot(network, end),
    );
  let validity: ValidityWindow = {
    from: slotAt(network, time.earliestTime) - VALID_BEFORE_SLOTS,
    to: Math.min(now + VALID_AFTER_SLOTS, end),
  };
  for (const [count, { notBefore, deadline, lastStart }] of tasks.entries()) {
    const from = notBefore === undefined ? validity.from : firstSlotAtOrAfter(network, notBefore);
    // The last slot in which the deadline is still ahead when it begins.
    const to = deadline === undefined ? validity.to : firstSlotAtOrAfter(network, deadline) - 1;
    const both = { from: Math.max(validity.from, from), to: Math.min(validity.to, to) };
    const isLate = lastStart !== undefined && time.latestTime >= lastStart;
    const isPassed = isLate || both.to <= Math.max(both.from, now);
    if (count === 0 && isPassed)
      throw new DeadlinePassedError("the deadline is over, or too near for a block");
    if (isPassed || (count > 0 && both.to < now + MIN_VALID_SLOTS)) return { validity, count };
    validity = both;
  }
  return { validity, count: tasks.length };
}
