import { env } from "cloudflare:workers";
import { afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { emptyTables } from "../../support/app.ts";
import { TestChain } from "../../support/chain.ts";
import { shortenTimeouts } from "../../support/crash-at.ts";
import {
  expectSameAtEachSwitch,
  forgetOutages,
  outagesOf,
  type Profile,
  providerAt,
  setProviders,
} from "../../support/sources/provider-list.ts";
import { createSource, leftBehind, runPass, settle } from "../../support/sources/sync.ts";
import { TWO_LIVES } from "./two-lives.ts";

const V2 = "Web3ChainV2";
const READERS = ["mirror", "ryo", "dolos", "platform"] as const;
/** Rules of faults that only the first provider meets. */
const AT_FIRST = "^/";

let chain: TestChain;
let expected: Awaited<ReturnType<typeof leftBehind>>;

/** A source with a second provider at another profile to the chain. */
async function createListedSource(on: TestChain, profile: Profile = "mirror"): Promise<string> {
  await emptyTables();
  await forgetOutages(on, profile);
  const source = await createSource(on, V2);
  await setProviders(source, [providerAt(on, profile)]);
  return source;
}

const errorOf = async () => env.DB.prepare("SELECT error FROM source_cursor").first("error");
const countEscrows = () => env.DB.prepare("SELECT count(*) AS n FROM escrow").first<number>("n");

beforeAll(async () => {
  vi.spyOn(console, "warn").mockImplementation(() => {});
  chain = await TestChain.create();
  await chain.act(TWO_LIVES);
  await emptyTables();
  const source = await createSource(chain, V2);
  await settle(chain, source);
  expected = await leftBehind(source);
});
afterEach(async () => {
  vi.unstubAllGlobals();
  await chain.faults();
});

describe("a sync whose first provider stops at any call", () => {
  it.each(READERS)("ends with the same records, read from %s", (profile) =>
    expectSameAtEachSwitch(profile, expected, async (withFirst) => {
      const source = await createListedSource(chain, profile);
      await withFirst(() => settle(chain, source));
      return leftBehind(source);
    }),
  );
});

describe("a first provider", () => {
  it("that hangs is left within ten seconds, and not asked again", async () => {
    const source = await createListedSource(chain);
    await chain.faults({ match: AT_FIRST, hang: true });
    shortenTimeouts([4_000]);
    await settle(chain, source);
    expect(await leftBehind(source)).toEqual(expected);
    await chain.stats();
    await settle(chain, source);
    const { calls } = await chain.stats();
    expect(Object.keys(calls).filter((call) => !call.startsWith("mirror:"))).toEqual([]);
  });

  it("that bans the key is left at once", async () => {
    const source = await createListedSource(chain);
    await chain.faults({ match: AT_FIRST, status: 418 });
    await settle(chain, source);
    expect(await leftBehind(source)).toEqual(expected);
  });

  it("that lags behind the cursor is passed over, and undoes nothing", async () => {
    const source = await createListedSource(chain);
    await settle(chain, source);
    await chain.faults({ match: AT_FIRST, behind: 4 });
    await chain.mine();
    await settle(chain, source);
    const left = await leftBehind(source);
    expect(left.escrows).toEqual(expected.escrows);
    expect(await errorOf()).toBeNull();
  });

  it("that lags is waited for when the other one lags too", async () => {
    const source = await createListedSource(chain);
    await settle(chain, source);
    await chain.faults({ behind: 4 });
    await runPass(chain, source);
    expect(await errorOf()).toMatch(/behind/);
    expect(await countEscrows()).toBe(expected.escrows.length);
  });
});

describe("providers on two chains", () => {
  async function open(): Promise<{ own: TestChain; source: string }> {
    const own = await TestChain.create();
    return { own, source: await createListedSource(own) };
  }

  it("that differ in the last blocks: the shorter chain undoes nothing", async () => {
    const { own, source } = await open();
    await own.act([{ do: "lock", as: "a", version: V2 }]);
    await own.rollback(1, true);
    await own.mine(3);
    await settle(own, source);
    expect(await countEscrows()).toBe(2);
    await own.faults({ match: AT_FIRST, fork: 0 });
    await runPass(own, source);
    expect(await countEscrows()).toBe(2);
    expect(await errorOf()).toBeNull();
  });

  it("that differ in a block 20 deep stop the source, and say so", async () => {
    const { own, source } = await open();
    await own.act([{ do: "lock", as: "a", version: V2 }]);
    await own.mine(30);
    await own.rollback(31);
    await own.act([{ do: "lock", as: "b", version: V2 }]);
    await own.mine(25);
    await settle(own, source);
    const before = await leftBehind(source);
    await own.faults({ match: AT_FIRST, fork: 0 });
    await runPass(own, source);
    expect(await errorOf()).toMatch(/two providers disagree about block/);
    expect((await leftBehind(source)).escrows).toEqual(before.escrows);
    // The operator removes one of them.
    await own.faults();
    await settle(own, source);
    expect(await errorOf()).toBeNull();
  });
});

describe("a first provider that hides a transaction of the contract", () => {
  it("is found out by another one, which is read from then on", async () => {
    const own = await TestChain.create();
    const source = await createListedSource(own);
    const [lock] = await own.act([{ do: "lock", as: "a", version: V2 }]);
    await own.mine(3);
    await own.faults({ match: AT_FIRST, hideTransaction: lock?.txHash });
    await settle(own, source);
    expect(await countEscrows()).toBe(2);
    expect(await outagesOf(own)).toMatchObject({
      reads: { reason: expect.stringContaining("does not list transaction") },
    });
  });
});
