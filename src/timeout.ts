/**
 * Runs abortable work, and aborts it after a time. The timer ends with the work: that of
 * `AbortSignal.timeout` lives on, and the runtime limits their number.
 *
 * @param ms - milliseconds; aborted work fails with a `TimeoutError`
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

/**
 * A call's result, or that of `late` when it takes too long. The call itself continues; only its
 * answer is no longer awaited.
 *
 * @param ms - milliseconds
 * @param late - may throw
 */
export async function withTimeout<T, Late>(
  ms: number,
  call: Promise<T>,
  late: () => Late,
): Promise<T | Late> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const timeUp = new Promise<void>((done) => {
    timer = setTimeout(done, ms);
  });
  try {
    return await Promise.race([call, timeUp.then(late)]);
  } finally {
    clearTimeout(timer);
  }
}
