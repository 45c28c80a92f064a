import { toTaskKey } from "../../model/wallet-transaction.ts";
import { findEarliestTime, RETRY_DELAY_MS } from "../../queue/backoff.ts";
import type { DueTasks, Task, TaskFailure, WalletFeature } from "../../queue/feature.ts";
import { isTransientError, logFailure } from "../../queue/isolate-failures.ts";
import type { WalletPorts } from "../context/wallet-ports.ts";

/** Tasks of a feature that are considered for one transaction, unless it says another number. */
const MAX_TASKS = 20;

/** What all features have for the next transactions, read together. @throws transient errors */
export function readAllDueTasks(ports: WalletPorts): Promise<Required<DueTasks>[]> {
  const now = ports.now();
  return Promise.all(ports.features.map((feature) => readDueTasks(ports, feature, now)));
}

/**
 * What a feature has for the next transaction. A feature that throws has nothing for a while, and holds up
 * no other one.
 *
 * @param now - epoch milliseconds
 * @throws transient errors
 */
export async function readDueTasks(
  { vkey: wallet, requestId, view }: Pick<WalletPorts, "vkey" | "requestId" | "view">,
  feature: WalletFeature,
  now: number,
): Promise<Required<DueTasks>> {
  let due: DueTasks;
  try {
    due = await feature.listDue(now, feature.maxTasks ?? MAX_TASKS);
  } catch (error) {
    if (isTransientError(error)) throw error;
    logFailure(error, { wallet, requestId, feature: feature.name, tasks: [] });
    return { tasks: [], nextDueAt: now + RETRY_DELAY_MS, failures: [] };
  }
  const retryTimeOf = ({ id }: Task) =>
    view.backoff.findRetryTime(toTaskKey({ feature: feature.name, id }), now);
  const isReady = (task: Task) => retryTimeOf(task) === null;
  const untimed = due.tasks.filter((task) => !hasValidTimes(task));
  const failures: TaskFailure[] = [
    ...(due.failures ?? []),
    ...untimed.map((task) => ({ task, error: new RangeError("a time of the task is no number") })),
  ];
  return {
    tasks: due.tasks.filter((task) => hasValidTimes(task) && isReady(task)),
    nextDueAt: findEarliestTime([due.nextDueAt, ...due.tasks.map(retryTimeOf)]),
    failures: failures.filter(({ task }) => isReady(task)),
  };
}

/** Whether the times of a task are numbers: others would be those of each task in its transaction. */
function hasValidTimes({ notBefore = 0, deadline = 0, lastStart = 0 }: Task): boolean {
  return ![notBefore, deadline, lastStart].some(Number.isNaN);
}
