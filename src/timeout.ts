/**
 * Does something that can be aborted, and aborts it after a time. The timer ends with the work: that of
 * `AbortSignal.timeout` lives on, and the runtime bounds how many may.
 *
 * @param ms - milliseconds; what is aborted then fails with a `TimeoutError`
 */
export async function abortAfter<T>(
  ms: number,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const stop = new AbortController();
  const timer = setTimeout(
    () => stop.abort(new DOMException(`no answer within ${ms} ms`, "TimeoutError")),
    ms,
  );
  try {
    return await work(stop.signal);
  } finally {
    clearTimeout(timer);
  }
}
