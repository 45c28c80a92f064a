import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { emptyTables } from "../support/app.ts";
import { TestChain } from "../support/chain.ts";
import { failingD1, OVERLOAD_ERRORS, RETRYABLE_ERRORS, wrapD1 } from "../support/d1.ts";
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

const realSetTimeout = globalThis.setTimeout;

/** Where the process dies: at the k-th awaited step, before or after the step took effect. */
function dyingAt(k: number, when: "before" | "after") {
  let steps = 0;
  const step = async <T>(run: () => Promise<T>): Promise<T> => {
    const n = ++steps;
    if (n > k || (n === k && when === "before")) return die();
    const result = await run();
    return n === k ? die() : result;
  };
  /** A dead process does not wait out its pauses before it tries again. */
  const die = (): never => {
    vi.stubGlobal("setTimeout", (callback: () => void) => realSetTimeout(callback, 0));
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
      PROVIDER_BUDGET: {
        idFromName: (name: string) => PROVIDER_BUDGET.idFromName(name),
        get: (id: DurableObjectId) => budget(PROVIDER_BUDGET.get(id) as never),
      } as unknown as DurableObjectNamespace,
    },
  };
  const realFetch = globalThis.fetch;
  const fetch = (...args: Parameters<typeof realFetch>) => step(() => realFetch(...args));
  return { overrides, fetch, count: () => steps };
}

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
