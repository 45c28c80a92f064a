import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { runs } from "../../support/effort.ts";
import { KEYS } from "./keys.ts";
import { QUOTES } from "./quotes.ts";
import { DEEDS, type Deed, PurchaseStory } from "./story.ts";

beforeAll(() => {
  vi.useFakeTimers({ toFake: ["Date"] });
  for (const level of ["info", "warn", "error"] as const)
    vi.spyOn(console, level).mockImplementation(() => {});
});
afterAll(() => {
  vi.useRealTimers();
});

const deed = fc.tuple(
  fc.constantFrom(...DEEDS),
  fc.nat(KEYS * QUOTES - 1),
) satisfies fc.Arbitrary<Deed>;
const outputs = fc.array(fc.integer({ min: 20, max: 200 }), { minLength: 1, maxLength: 3 });

describe("purchases of twenty keys with limits over three wallets", () => {
  it("are locked once or given back, whatever dies, is lost, late, undone or set back", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.tuple(outputs, outputs, outputs),
        fc.array(deed, { minLength: 10, maxLength: 50 }),
        async (funds, deeds) => {
          const story = new PurchaseStory(funds);
          for (const one of deeds) await story.do(one);
          expect(await story.end()).toEqual({
            notOver: [],
            lockedTwice: [],
            wronglyTold: [],
            wronglyCharged: [],
            wrongAccounts: [],
          });
        },
      ),
      runs(60, 1_500),
    );
  });
});
