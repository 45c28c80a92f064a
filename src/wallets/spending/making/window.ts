import type { ChainTime } from "../../../chain/chain-time.ts";
import type { Network } from "../../../chain/network.ts";
import { epochEnd, slotAt, slotFrom, timeOfSlot } from "../../../chain/slots.ts";
import type { TransactionPlan } from "../../../chain/transaction/plan.ts";
import { type Task, TaskError } from "../../work.ts";

/** Slots (seconds) before and after now in which a transaction is valid: allows for clock skew. */
const VALID_BEFORE = 300;
export const VALID_AFTER = 330;
/** Slots that a transaction needs to reach a block. */
const MIN_VALID_SLOTS = 60;

/** The network cannot take it any more. */
export class DeadlinePassed extends TaskError {
  override name = "DeadlinePassed";
}

/** Nothing is built before a time, epoch milliseconds. */
export class NotYet extends TaskError {
  override name = "NotYet";
  readonly until: number;

  constructor(message: string, until: number) {
    super(message);
    this.until = until;
  }
}

type Window = TransactionPlan["validity"];

/**
 * The slots in which a transaction that does these tasks is valid: from the latest beginning to the
 * earliest deadline, a few minutes at the most. It never crosses the end of an epoch, with which prices
 * and costs may change.
 *
 * @returns how many of the tasks, from the first, have such a window in common, at least one
 * @throws DeadlinePassed for the first of the tasks; NotYet while an epoch ends
 */
export function windowFor(
  network: Network,
  tasks: readonly Pick<Task, "begins" | "deadline" | "lastStart">[],
  time: ChainTime,
): { validity: Window; count: number } {
  const now = slotAt(network, time.latest);
  const end = epochEnd(network, now);
  const first = tasks[0]?.deadline;
  const isDueBefore = first !== undefined && slotFrom(network, first) <= end;
  if (end - now < MIN_VALID_SLOTS && !isDueBefore)
    throw new NotYet("an epoch ends, with which prices may change", timeOfSlot(network, end));
  let validity: Window = {
    from: slotAt(network, time.earliest) - VALID_BEFORE,
    to: Math.min(now + VALID_AFTER, end),
  };
  for (const [count, { begins, deadline, lastStart }] of tasks.entries()) {
    const from = begins === undefined ? validity.from : slotFrom(network, begins);
    // The last slot in which the deadline is still ahead when it begins.
    const to = deadline === undefined ? validity.to : slotFrom(network, deadline) - 1;
    const both = { from: Math.max(validity.from, from), to: Math.min(validity.to, to) };
    const isLate = lastStart !== undefined && time.latest >= lastStart;
    const isPassed = isLate || both.to <= Math.max(both.from, now);
    if (count === 0 && isPassed)
      throw new DeadlinePassed("its deadline is over, or too near to reach a block before it");
    if (isPassed || (count > 0 && both.to < now + MIN_VALID_SLOTS)) return { validity, count };
    validity = both;
  }
  return { validity, count: tasks.length };
}
