import { toTaskKey } from "../../model/wallet-transaction.ts";
import type { TaskFailure, WalletFeature } from "../../queue/feature.ts";
import { forEachIsolated, logFailure, toTaskError } from "../../queue/isolate-failures.ts";
import type { WalletPorts } from "../context/wallet-ports.ts";

type FailurePorts = Pick<WalletPorts, "vkey" | "requestId" | "view">;

/**
 * Passes to a feature which of its tasks cannot be done, those with the same error together. A task whose
 * record takes no failure waits all the same.
 *
 * @param now - epoch milliseconds
 * @throws transient errors
 */
export async function reportFailures(
  { vkey: wallet, requestId, view }: FailurePorts,
  feature: WalletFeature,
  failures: readonly TaskFailure[],
  now: number,
): Promise<void> {
  for (const [thrown, ones] of Map.groupBy(failures, ({ error }) => error)) {
    const tasks = ones.map(({ task }) => task);
    const place = { wallet, requestId, feature: feature.name };
    const error = toTaskError(thrown, { ...place, tasks: tasks.map(({ id }) => id) });
    const unwritten = await forEachIsolated(tasks, (some) => feature.onFailure(some, error, now));
    for (const { id } of tasks) {
      const key = toTaskKey({ feature: feature.name, id });
      const failed = unwritten.find(({ item }) => item.id === id);
      if (failed === undefined) view.backoff.clear(key);
      else {
        logFailure(failed.error, { ...place, tasks: [id] });
        view.backoff.recordFailure(key, now);
      }
    }
  }
}
