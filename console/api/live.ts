/** Answers of the API that stay up to date while they are looked at. */
import { signal } from "@preact/signals";
import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { CallError } from "./request.ts";

/** Between two looks at what changes often, and at what changes seldom. */
export const FAST_POLL_INTERVAL_MS = 3_000;
export const POLL_INTERVAL_MS = 10_000;

/** When something was last read from the API, epoch milliseconds; null: never. */
export const lastReadAt = signal<number | null>(null);
/** Why the last read failed; null: it did not. */
export const readError = signal<CallError | null>(null);

export interface LiveData<Data> {
  /** Null before the first answer. */
  data: Data | null;
  /** Why there is no newer answer; null: this one is the newest. */
  error: CallError | null;
  /** Reads now. */
  refresh(): void;
}

/**
 * Reads at once, every so often while the page is visible, and when it becomes visible. Another
 * name drops the old data.
 *
 * @param name - such as the address of a call
 * @param read - gets the last data of this name
 */
export function useLiveData<Data>(
  name: string,
  read: (signal: AbortSignal, before: Data | null) => Promise<Data>,
  everyMs = POLL_INTERVAL_MS,
): LiveData<Data> {
  const [shown, setShown] = useState<{ name: string; data: Data | null; error: CallError | null }>({
    name,
    data: null,
    error: null,
  });
  const reader = useRef(read);
  reader.current = read;
  const now = useRef<() => void>(() => undefined);

  useEffect(() => {
    const stop = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    let isReading = false;
    let isAskedAgain = false;
    let data: Data | null = null;
    const poll = async () => {
      if (isReading) {
        isAskedAgain = true;
        return;
      }
      isReading = true;
      clearTimeout(timer);
      try {
        data = await reader.current(stop.signal, data);
        if (stop.signal.aborted) return;
        setShown({ name, data, error: null });
        lastReadAt.value = Date.now();
        readError.value = null;
      } catch (error) {
        if (stop.signal.aborted) return;
        const problem = toCallError(error);
        setShown({ name, data, error: problem });
        readError.value = problem;
      } finally {
        isReading = false;
        if (!stop.signal.aborted) {
          timer = setTimeout(pollIfVisible, isAskedAgain ? 0 : everyMs);
          isAskedAgain = false;
        }
      }
    };
    const pollIfVisible = () => {
      if (document.visibilityState === "visible") poll();
    };
    now.current = poll;
    poll();
    document.addEventListener("visibilitychange", pollIfVisible);
    return () => {
      stop.abort();
      clearTimeout(timer);
      document.removeEventListener("visibilitychange", pollIfVisible);
    };
  }, [name, everyMs]);

  const refresh = useCallback(() => now.current(), []);
  const isCurrent = shown.name === name;
  return {
    data: isCurrent ? shown.data : null,
    error: isCurrent ? shown.error : null,
    refresh,
  };
}

/** A problem of the console itself is shown like one of the API, rather than as an empty page. */
export function toCallError(error: unknown): CallError {
  if (error instanceof CallError) return error;
  console.error(error);
  return new CallError(0, error instanceof Error ? error.message : String(error));
}
