import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { Env } from "../../src/env.ts";
import { emptyTables } from "../support/app.ts";
import { shortTimer } from "../support/crash-at.ts";
import { wrapD1 } from "../support/d1.ts";
import { sweep } from "../support/effort.ts";
import { RegistrationFixture } from "../support/registry/registration-fixture.ts";

beforeEach(emptyTables);
afterEach(() => {
  vi.unstubAllGlobals();
});

/** Where the process dies: at the k-th awaited step, before or after the step took effect. */
function crashAt(k: number, when: "before" | "after") {
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

describe("a wallet's object stopped at any awaited step and started again", () => {
  it.each([
    ["mints once (before the step)", "Registration", "before"],
    ["mints once (after the step)", "Registration", "after"],
    ["burns once (before the step)", "Deregistration", "before"],
    ["burns once (after the step)", "Deregistration", "after"],
    ["updates once (before the step)", "Update", "before"],
    ["updates once (after the step)", "Update", "after"],
  ] as const)("%s", async (_, purpose, when) => {
    const type = purpose === "Update" ? "Web3ChainV2" : "Web3ChainV1";
    const fixture = await RegistrationFixture.open({ type });
    const begin = async (): Promise<string> => {
      const { id } = (await fixture.register()).data;
      if (purpose === "Registration") return id;
      await fixture.settle();
      const { agentIdentifier } = await fixture.shown(id);
      if (purpose === "Update") await fixture.update(agentIdentifier);
      else await fixture.deregister(agentIdentifier);
      return id;
    };
    await begin();
    const counting = crashAt(Number.POSITIVE_INFINITY, when);
    await fixture.work(undefined, counting.overrides);
    await fixture.work(undefined, counting.overrides);
    vi.unstubAllGlobals();
    expect(counting.count()).toBeGreaterThanOrEqual(10);

    let begun = 1;
    for (const k of sweep(48, counting.count())) {
      const id = await begin();
      begun++;
      const dying = crashAt(k, when);
      await fixture.work(undefined, dying.overrides);
      await fixture.work(undefined, dying.overrides);
      vi.unstubAllGlobals();
      await fixture.settle();
      const { minted, burned } = await fixture.tokens();
      const expected = {
        minted: purpose === "Update" ? 2 * begun : begun,
        burned: purpose === "Registration" ? 0 : begun,
      };
      expect({ minted, burned }, `stopped at step ${k}`).toEqual(expected);
      expect(await fixture.shown(id)).toMatchObject({ state: `${purpose}Confirmed`, error: null });
    }
  });
});
