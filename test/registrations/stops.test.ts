import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { emptyTables } from "../support/app.ts";
import { sweep } from "../support/effort.ts";
import { RegistrationFixture } from "../support/registry/registration-fixture.ts";
import { stopAt } from "../support/stop-at.ts";

beforeEach(emptyTables);
afterEach(() => {
  vi.unstubAllGlobals();
});

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
    const counting = stopAt(Number.POSITIVE_INFINITY, when);
    await fixture.work(undefined, counting.overrides);
    await fixture.work(undefined, counting.overrides);
    vi.unstubAllGlobals();
    expect(counting.count()).toBeGreaterThanOrEqual(10);

    let begun = 1;
    for (const k of sweep(48, counting.count())) {
      const id = await begin();
      begun++;
      const dying = stopAt(k, when);
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
