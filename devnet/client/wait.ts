/** How often to poll, and when to give up. */
export interface WaitOptions {
  /** The awaited event, in the words of an error. */
  what: string;
  /** Milliseconds between two polls; default 200. */
  everyMs?: number;
  /** Milliseconds; default five minutes. */
  limitMs?: number;
  /** Ends the wait when it aborts. */
  signal?: AbortSignal;
}

const EVERY_MS = 200;
const LIMIT_MS = 300_000;

/**
 * Polls until there is a value. It rethrows an error of the poll.
 *
 * @returns the first value that is not undefined, null or false
 * @throws Error when the time is up
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
