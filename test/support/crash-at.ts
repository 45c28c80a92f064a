import { env } from "cloudflare:workers";
import { vi } from "vitest";
import { wrapD1 } from "./d1.ts";
import { objectsLike } from "./objects.ts";

const realSetTimeout = globalThis.setTimeout;

/** Longer than any pause before something is tried again, and shorter than any timeout. */
const MAX_PAUSE_MS = 5_000;

/** The timer of a dead process: it does not wait out its pauses before it tries again. */
export function shortTimer(callback: () => void, ms = 0): unknown {
  return realSetTimeout(callback, ms > MAX_PAUSE_MS ? ms : 0);
}

/**
 * Shortens timeouts of these milliseconds to 300, so that no test waits the service's full time for
 * a missing answer. All other timers stay as they are.
 *
 * @returns ends it, since real answers take a busy machine longer; `vi.unstubAllGlobals()` does too
 */
export function shortenTimeouts(timeouts: readonly number[]): () => void {
  vi.stubGlobal("setTimeout", (callback: () => void, ms = 0) =>
    realSetTimeout(callback, timeouts.includes(ms) ? 300 : ms),
  );
  return () => vi.stubGlobal("setTimeout", realSetTimeout);
}

/** How long the chain provider is waited for, and the pauses before it is asked again. */
const PROVIDER_TIMEOUT_MS = 8_000;
const PROVIDER_PAUSES_MS = { from: 250, to: 1_000 };

/**
 * Ends unanswered calls of the chain provider sooner, and repeats failed calls without a pause.
 *
 * @param timeoutMs - of a call
 * @returns ends it, as above
 */
export function shortenProviderTimeouts(timeoutMs = 300): () => void {
  const { from, to } = PROVIDER_PAUSES_MS;
  vi.stubGlobal("setTimeout", (callback: () => void, ms = 0) => {
    const isPause = ms >= from && ms <= to;
    return realSetTimeout(callback, isPause ? 0 : ms === PROVIDER_TIMEOUT_MS ? timeoutMs : ms);
  });
  return () => vi.stubGlobal("setTimeout", realSetTimeout);
}

/**
 * A process that dies at its k-th awaited step, before or after the step took effect. It consists
 * of storage, D1, queue and budget for an object, and of the `fetch` to stub.
 */
export function crashAt(k: number, when: "before" | "after") {
  let steps = 0;
  const step = async <T>(run: () => Promise<T>): Promise<T> => {
    const n = ++steps;
    if (n > k || (n === k && when === "before")) return die();
    const result = await run();
    return n === k ? die() : result;
  };
  const die = (): never => {
    vi.stubGlobal("setTimeout", shortTimer);
    throw new Error("the process was stopped");
  };
  const budget = (stub: Record<string, (...args: unknown[]) => Promise<unknown>>) => ({
    lease: (...args: unknown[]) => step(async () => stub.lease?.(...args)),
    refuse: (...args: unknown[]) => step(async () => stub.refuse?.(...args)),
  });
  const { PROVIDER_BUDGET, EVENTS } = env;
  const overrides = {
    storage: step,
    env: {
      DB: wrapD1(env.DB, (_, run) => step(run)),
      EVENTS: { send: (body: never) => step(() => EVENTS.send(body)) } as unknown as Queue<never>,
      PROVIDER_BUDGET: objectsLike("PROVIDER_BUDGET", (id) =>
        budget(PROVIDER_BUDGET.get(id) as never),
      ),
    },
  };
  const realFetch = globalThis.fetch;
  const fetch = (...args: Parameters<typeof realFetch>) => step(() => realFetch(...args));
  return { overrides, fetch, count: () => steps };
}
