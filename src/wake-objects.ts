import pMap from "p-map";
import { MAX_CONCURRENT_FETCHES } from "./connections.ts";
import { withTimeout } from "./timeout.ts";

/** A call that takes longer is no longer awaited; the object may still get the call. */
const WAKE_TIMEOUT_MS = 5_000;

/**
 * Wakes Durable Objects, no more at the same time than an invocation has connections for. An object that fails
 * or hangs does not hold up the others.
 *
 * @param onError - receives each object that was not woken, with the error
 */
export async function wakeObjects<Item>(
  items: Iterable<Item>,
  wake: (item: Item) => Promise<void>,
  onError: (item: Item, error: unknown) => void,
): Promise<void> {
  const wakeOne = async (item: Item) => {
    try {
      await withTimeout(WAKE_TIMEOUT_MS, wake(item), () => {
        throw new Error(`not woken within ${WAKE_TIMEOUT_MS} ms`);
      });
    } catch (error) {
      onError(item, error);
    }
  };
  await pMap(items, wakeOne, { concurrency: MAX_CONCURRENT_FETCHES });
}
