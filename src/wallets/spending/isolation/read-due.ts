import { taskKey } from "../../model/wallet-transaction.ts";
import { findEarliest, WAIT_MS } from "../../queue/backoff.ts";
import type { DueTasks, Task, TaskFailure, WalletFeature } from "../../queue/feature.ts";
import { isTransient, logFailure } from "../../queue/isolate.ts";
import type { WalletPorts } from "../context/wallet-ports.ts";

/** Tasks of a feature that are considered for one transaction, unless it says another number. */
const MAX_TASKS = 20;

/**
 * What a feature has for the next transaction. A feature that throws has nothing for a while, and holds up
 * no other one.
 *
 * @param now - epoch milliseconds
 * @throws transient errors
 */
export async function readDue(
  { vkey: wallet, requestId, view }: Pick<WalletPorts, "vkey" | "requestId" | "view">,
  feature: WalletFeature,
  now: number,
): Promise<Required<DueTasks>> {
  let due: DueTasks;
  try {
    due = await feature.due(now, feature.maxTasks ?? MAX_TASKS);
  } catch (error) {
    if (isTransient(error)) throw error;
    logFailure(error, { wallet, requestId, feature: feature.name, tasks: [] });
    return { tasks: [], next: now + WAIT_MS, failures: [] };
  }
  const waitsUntil = ({ id }: Task) =>
    view.backoff.waitsUntil(taskKey({ feature: feature.name, id }), now);
  const isFree = (task: Task) => waitsUntil(task) === null;
  const untimed = due.tasks.filter((task) => !hasTimes(task));
  const failures: TaskFailure[] = [
    ...(due.failures ?? []),
    ...untimed.map((task) => ({ task, error: new RangeError("a time of the task is no number") })),
  ];
  return {
    tasks: due.tasks.filter((task) => hasTimes(task) && isFree(task)),
    next: findEarliest([due.next, ...due.tasks.map(waitsUntil)]),
    failures: failures.filter(({ task }) => isFree(task)),
  };
}

/** Whether the times of a task are numbers: others would be those of each task in its transaction. */
function hasTimes({ notBefore = 0, deadline = 0, lastStart = 0 }: Task): boolean {
  return ![notBefore, deadline, lastStart].some(Number.isNaN);
}
