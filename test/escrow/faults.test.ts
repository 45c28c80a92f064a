import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { emptyTables } from "../support/app.ts";
import { TestChain } from "../support/chain.ts";
import { failingD1, OVERLOAD_ERRORS, RETRYABLE_ERRORS } from "../support/d1.ts";
import { dyingAt } from "../support/dying.ts";
import { createSource, leftBehind, runPass, settle } from "../support/sync.ts";

const V2 = "Web3ChainV2";

/** Two lives and a rejected lock, in seven transactions: every kind of write a sync makes. */
const STEPS = [
  { do: "lock", as: "a", version: V2 },
  { do: "lock", as: "b", version: V2, datum: { sellerCooldownTime: "5" } },
  { do: "submitResult", on: "a" },
  { do: "requestRefund", on: "a" },
  { do: "lock", as: "c", version: V2 },
  { do: "withdrawDisputed", on: "a" },
  { do: "submitResult", on: "c" },
];

type Left = Awaited<ReturnType<typeof leftBehind>>;

let chain: TestChain;
let expected: Left;

async function freshSource(): Promise<string> {
  await emptyTables();
  return createSource(chain, V2);
}

beforeEach(async () => {
  chain = await TestChain.create();
  await chain.act(STEPS);
  const source = await freshSource();
  await settle(chain, source);
  expected = await leftBehind(source);
});
afterEach(() => {
  vi.unstubAllGlobals();
});

describe("a sync stopped at any awaited step and started again", () => {
  it.each(["before", "after"] as const)(
    "ends with the same records, cursor, and each event once (stopped %s the step)",
    async (when) => {
      const counting = dyingAt(Number.POSITIVE_INFINITY, when);
      vi.stubGlobal("fetch", counting.fetch);
      await runPass(chain, await freshSource(), counting.overrides);
      vi.unstubAllGlobals();
      console.info(`awaited steps of one sync: ${counting.count()}`);
      expect(counting.count()).toBeGreaterThanOrEqual(20);

      for (let k = 1; k <= counting.count(); k++) {
        const source = await freshSource();
        const dying = dyingAt(k, when);
        vi.stubGlobal("fetch", dying.fetch);
        await runPass(chain, source, dying.overrides).catch(() => "died outside its own care");
        vi.unstubAllGlobals();
        await settle(chain, source);
        expect(await leftBehind(source), `stopped at step ${k}`).toEqual(expected);
      }
    },
    120_000,
  );
});

describe("a database that fails", () => {
  it.each(
    [...RETRYABLE_ERRORS, ...OVERLOAD_ERRORS].flatMap(
      (text) =>
        [
          ["before", text],
          ["after", text],
        ] as const,
    ),
  )("leaves the same end when every third call fails %s it applied: %s", async (when, text) => {
    const source = await freshSource();
    const { d1 } = failingD1(env.DB, text, when, (n) => n % 3 === 0);
    for (let pass = 0; pass < 3; pass++) await runPass(chain, source, { env: { DB: d1 } });
    await settle(chain, source);
    expect(await leftBehind(source)).toEqual(expected);
  });
});
