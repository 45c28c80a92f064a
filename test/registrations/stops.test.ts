import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { Env } from "../../src/env.ts";
import { emptyTables } from "../support/app.ts";
import { wrapD1 } from "../support/d1.ts";
import { hurried } from "../support/dying.ts";
import { sweep } from "../support/effort.ts";
import { RegistrationDesk } from "../support/registry/registration.ts";

beforeEach(emptyTables);
afterEach(() => {
  vi.unstubAllGlobals();
});

/** Where the process dies: at the k-th awaited step, before or after the step took effect. */
function dyingAt(k: number, when: "before" | "after") {
  let steps = 0;
  const die = (): never => {
    vi.stubGlobal("setTimeout", hurried);
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

describe("a wallet's object stopped at any awaited step and started again", () => {
  it.each([
    ["mints once (before the step)", false, "before"],
    ["mints once (after the step)", false, "after"],
    ["burns once (before the step)", true, "before"],
    ["burns once (after the step)", true, "after"],
  ] as const)("%s", async (_, burns, when) => {
    const desk = await RegistrationDesk.open();
    const begin = async (): Promise<string> => {
      const { id } = (await desk.register()).data;
      if (!burns) return id;
      await desk.settle();
      await desk.deregister((await desk.shown(id)).agentIdentifier);
      return id;
    };
    await begin();
    const counting = dyingAt(Number.POSITIVE_INFINITY, when);
    await desk.work(undefined, counting.overrides);
    await desk.work(undefined, counting.overrides);
    vi.unstubAllGlobals();
    expect(counting.count()).toBeGreaterThanOrEqual(10);

    let begun = 1;
    for (const k of sweep(12, counting.count())) {
      const id = await begin();
      begun++;
      const dying = dyingAt(k, when);
      await desk.work(undefined, dying.overrides);
      await desk.work(undefined, dying.overrides);
      vi.unstubAllGlobals();
      await desk.settle();
      const { minted, burned } = await desk.tokens();
      const expected = { minted: begun, burned: burns ? begun : 0 };
      expect({ minted, burned }, `stopped at step ${k}`).toEqual(expected);
      const state = burns ? "DeregistrationConfirmed" : "RegistrationConfirmed";
      expect(await desk.shown(id)).toMatchObject({ state, error: null });
    }
  });
});
