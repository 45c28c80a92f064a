/** How often it is looked, and when the wait is given up. */
export interface WaitOptions {
  /** What is waited for, in the words of an error. */
  what: string;
  /** Milliseconds between two looks; default 200. */
  everyMs?: number;
  /** Milliseconds; default five minutes. */
  limitMs?: number;
  /** Ends the wait when it aborts. */
  signal?: AbortSignal;
}

const EVERY_MS = 200;
const LIMIT_MS = 300_000;

/**
 * Looks until there is something to see. What the look throws is passed on at once.
 *
 * @returns what it saw: anything but undefined, null and false
 * @throws Error when the time is up; the signal's reason when it aborts
 */
export async function until<T>(
  look: () => Promise<T> | T,
  { what, everyMs = EVERY_MS, limitMs = LIMIT_MS, signal }: WaitOptions,
): Promise<NonNullable<Exclude<T, false>>> {
  const end = performance.now() + limitMs;
  for (;;) {
    signal?.throwIfAborted();
    const seen = await look();
    if (seen !== undefined && seen !== null && seen !== false)
      return seen as NonNullable<Exclude<T, false>>;
    if (performance.now() > end) throw new Error(`${what}: not within ${limitMs} ms`);
    await pause(everyMs, signal);
  }
}

/** Ends early when the signal aborts. */
function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal?.addEventListener("abort", done);
  });
}
