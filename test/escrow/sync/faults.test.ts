import { env } from "cloudflare:workers";
import { afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { emptyTables } from "../../support/app.ts";
import { TestChain } from "../../support/chain.ts";
import { crashAt } from "../../support/crash-at.ts";
import { failingD1, OVERLOAD_ERRORS, RETRYABLE_ERRORS, racedD1 } from "../../support/d1.ts";
import { paired, sampled, sweep } from "../../support/effort.ts";
import { createSource, leftBehind, runPass, settle } from "../../support/sources/sync.ts";
import { TWO_LIVES } from "./two-lives.ts";

const V2 = "Web3ChainV2";

type Left = Awaited<ReturnType<typeof leftBehind>>;

let chain: TestChain;
let expected: Left;

async function freshSource(on = chain): Promise<string> {
  await emptyTables();
  return createSource(on, V2);
}

beforeAll(async () => {
  chain = await TestChain.create();
  await chain.act(TWO_LIVES);
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
      const counting = crashAt(Number.POSITIVE_INFINITY, when);
      vi.stubGlobal("fetch", counting.fetch);
      await runPass(chain, await freshSource(), counting.overrides);
      vi.unstubAllGlobals();
      expect(counting.count()).toBeGreaterThanOrEqual(20);

      for (const k of sweep(27, counting.count())) {
        const source = await freshSource();
        const dying = crashAt(k, when);
        vi.stubGlobal("fetch", dying.fetch);
        await runPass(chain, source, dying.overrides).catch(() => "died outside its own care");
        vi.unstubAllGlobals();
        await settle(chain, source);
        expect(await leftBehind(source), `stopped at step ${k}`).toEqual(expected);
      }
    },
  );
});

describe("a database that fails", () => {
  it.each(
    paired(sampled(4, [...RETRYABLE_ERRORS, ...OVERLOAD_ERRORS]), ["before", "after"] as const),
  )("leaves the same end when every third call fails %s it applied: %s", async (when, text) => {
    const source = await freshSource();
    const { d1 } = failingD1(env.DB, text, when, (n) => n % 3 === 0);
    for (let pass = 0; pass < 3; pass++) await runPass(chain, source, { env: { DB: d1 } });
    await settle(chain, source);
    expect(await leftBehind(source)).toEqual(expected);
  });
});

describe("a sync whose batch loses a record to another writer", () => {
  /** A record that a pass found, and a step of it that the next one will. */
  async function stepAhead(): Promise<{ chain: TestChain; source: string }> {
    const chain = await TestChain.create();
    const source = await freshSource(chain);
    await chain.act([{ do: "lock", as: "a", version: V2 }]);
    await settle(chain, source);
    await chain.act([{ do: "submitResult", on: "a" }]);
    await chain.stats();
    return { chain, source };
  }
  const raced = (times: number) =>
    racedD1(
      env.DB,
      "UPDATE source_cursor SET version",
      times,
      "UPDATE escrow SET revision = revision + 1",
    );
  const states = async () => {
    const { results } = await env.DB.prepare("SELECT on_chain_state FROM escrow").all();
    return new Set(results.map((row) => row.on_chain_state));
  };

  it("folds what it has read anew, and asks the provider nothing again", async () => {
    const undisturbed = await stepAhead();
    expect(await runPass(undisturbed.chain, undisturbed.source)).toBeNull();
    const { calls } = await undisturbed.chain.stats();

    const { chain, source } = await stepAhead();
    const { d1, lost } = raced(3);
    expect(await runPass(chain, source, { env: { DB: d1 } })).toBeNull();
    expect(lost()).toBe(3);
    expect((await chain.stats()).calls).toEqual(calls);
    expect(await states()).toEqual(new Set(["ResultSubmitted"]));
  });

  it("that always wins leaves the rest to a later pass, and nothing half done", async () => {
    const { chain, source } = await stepAhead();
    const { d1, lost } = raced(Number.POSITIVE_INFINITY);
    const begun = Date.now();
    const again = await runPass(chain, source, { env: { DB: d1 } });
    expect(again).toBeGreaterThanOrEqual(begun + 1_000);
    expect(lost()).toBeLessThan(10);
    expect((await chain.stats()).calls["GET /txs/{hash}/cbor"]).toBe(1);
    expect(await states()).toEqual(new Set(["FundsLocked"]));
    await settle(chain, source);
    expect(await states()).toEqual(new Set(["ResultSubmitted"]));
  });
});
