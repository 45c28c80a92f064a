import { actOnEach, failureOf, logFailure } from "../../isolate.ts";
import type { Failure, WalletWork } from "../../work.ts";
import type { WalletPorts } from "../ports.ts";
import { taskKey } from "../transaction.ts";

type Ports = Pick<WalletPorts, "vkey" | "requestId" | "view">;

/**
 * Passes to a feature which of its tasks cannot be done, those with the same error together. A task whose
 * record takes no failure waits all the same.
 *
 * @param now - epoch milliseconds
 * @throws transient errors
 */
export async function reportFailures(
  { vkey: wallet, requestId, view }: Ports,
  work: WalletWork,
  failures: readonly Failure[],
  now: number,
): Promise<void> {
  for (const [thrown, ones] of Map.groupBy(failures, ({ error }) => error)) {
    const tasks = ones.map(({ task }) => task);
    const place = { wallet, requestId, work: work.name };
    const error = failureOf(thrown, { ...place, tasks: tasks.map(({ id }) => id) });
    const unwritten = await actOnEach(tasks, (some) => work.notBuilt(some, error, now));
    for (const { id } of tasks) {
      const key = taskKey({ work: work.name, id });
      const failed = unwritten.find(({ item }) => item.id === id);
      if (failed === undefined) view.backoff.clear(key);
      else {
        logFailure(failed.error, { ...place, tasks: [id] });
        view.backoff.fail(key, now);
      }
    }
  }
}
