import { env } from "cloudflare:workers";
import { vi } from "vitest";
import type { Env } from "../../src/env.ts";
import { shortTimer } from "./crash-at.ts";
import { wrapD1 } from "./d1.ts";

/** Where the process dies: at the k-th awaited step, before or after the step took effect. */
export function stopAt(k: number, when: "before" | "after") {
  let steps = 0;
  const die = (): never => {
    vi.stubGlobal("setTimeout", shortTimer);
    throw new Error("the process was stopped");
  };
  const step = async <T>(run: () => Promise<T>): Promise<T> => {
    const n = ++steps;
    if (n > k || (n === k && when === "before")) return die();
    const result = await run();
    return n === k ? die() : result;
  };
  const realFetch = globalThis.fetch;
  vi.stubGlobal("fetch", (...args: Parameters<typeof realFetch>) => step(() => realFetch(...args)));
  const overrides: Partial<Env> = { DB: wrapD1(env.DB, (_, run) => step(run)) };
  return { overrides, count: () => steps };
}
