import { computeRetryDelay } from "../../queue/backoff.ts";

/** More tasks than fail in one object's life. */
const MAX_TRACKED_TASKS = 1_000;

/**
 * Growing pauses of tasks whose records take no failure, since writing these throws as well. Without a pause
 * the wallet would try such a task again at once. The pauses last as long as the wallet's object.
 */
export class TaskBackoff {
  readonly #tasks = new Map<string, { failures: number; until: number }>();

  /** @param key - see `toTaskKey` @param now - epoch milliseconds */
  recordFailure(key: string, now: number): void {
    if (this.#tasks.size >= MAX_TRACKED_TASKS) this.#tasks.clear();
    const failures = (this.#tasks.get(key)?.failures ?? 0) + 1;
    this.#tasks.set(key, { failures, until: now + computeRetryDelay(failures) });
  }

  /** The record of a task was written. */
  clear(key: string): void {
    this.#tasks.delete(key);
  }

  /** Until when a task waits, epoch milliseconds; null: it does not. */
  findRetryTime(key: string, now: number): number | null {
    const until = this.#tasks.get(key)?.until ?? 0;
    return until > now ? until : null;
  }
}
