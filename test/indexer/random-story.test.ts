import { env } from "cloudflare:workers";
import fc from "fast-check";
import { expect, it } from "vitest";
import { emptyTables } from "../support/app.ts";
import { wrapD1 } from "../support/d1.ts";
import { runs } from "../support/effort.ts";
import { FakeChain } from "./fake-chain.ts";
import { createTally, expected, pass, tallied } from "./tally.ts";

const names = fc.constantFrom("a", "b", "abc", "abcde");
const blocks = fc.array(fc.array(names, { maxLength: 3 }), { minLength: 1, maxLength: 3 });
const chance = fc.option(fc.nat({ max: 3 }), { nil: null, freq: 2 });

/** What happens to the chain, and then a pass. */
const step = fc.record({
  /** Blocks taken back, or the chain as it was before the last time. */
  cut: fc.oneof(fc.constant("none"), fc.constant("return"), fc.nat({ max: 4 })),
  blocks,
  /** The one that the provider does not list, counted from the last. */
  hidden: chance,
  /** The call of D1, counted in fives, after which the pass is stopped. */
  stopped: chance,
});

it("a story of forks, late transactions and stopped passes ends as a clean sync would", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 8 }), async (story) => {
      await emptyTables();
      await createTally();
      const chain = new FakeChain();
      // One that is always listed: a first one that was not listed would come before all others.
      chain.grow(["a0"]);
      await settle(chain);
      let named = 1;
      let highest = 0;
      let old: ReturnType<FakeChain["cut"]> | null = null;
      for (const { cut, blocks, hidden, stopped } of story) {
        if (typeof cut === "number") old = chain.cut(cut);
        else if (cut === "return" && old !== null) chain.switchTo(old);
        chain.grow(...blocks.map((block) => block.map((letter) => `${letter}${named++}`)));
        highest = Math.max(highest, chain.height);
        const late =
          hidden === null
            ? undefined
            : chain
                .transactions()
                .slice(1)
                .at(-1 - hidden);
        if (late) chain.hidden.add(late.txHash);
        await pass(chain, { d1: stoppingD1(stopped) }).catch(() => "goes on with the next step");
        chain.hidden.clear();
      }
      // A provider whose tip is lower than what was seen is waited for.
      while (chain.height <= highest) chain.grow([]);
      await settle(chain);
      expect(await tallied()).toEqual(expected(chain));
    }),
    runs(25, 500),
  );
});

async function settle(chain: FakeChain): Promise<void> {
  while (await pass(chain));
}

function stoppingD1(stopped: number | null): D1Database {
  let calls = 0;
  return wrapD1(env.DB, (_, run) => {
    if (stopped !== null && ++calls > 5 * (stopped + 1)) throw new Error("stopped here");
    return run();
  });
}
