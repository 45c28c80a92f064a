import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { emptyTables } from "../../support/app.ts";
import { shortenTimeouts } from "../../support/crash-at.ts";
import { sized } from "../../support/effort.ts";
import { PaymentSourceFixture } from "../../support/escrow/payment-source-fixture.ts";
import { type Profile, urlOf } from "../../support/sources/provider-list.ts";

const PURCHASES = sized(6, 50);

beforeEach(async () => {
  await emptyTables();
  for (const level of ["warn", "error"] as const)
    vi.spyOn(console, level).mockImplementation(() => {});
});
afterEach(() => {
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
});

/** A service whose source has further providers, and so many purchases that wait for their lock. */
async function openPurchases(...profiles: Profile[]): Promise<PaymentSourceFixture> {
  const buying = await PaymentSourceFixture.open("Web3ChainV2");
  const RpcProviders = profiles.map((profile) => ({
    rpcProvider: profile === "ogmios" ? "Ogmios" : "Blockfrost",
    url: urlOf(buying.chain, profile),
  }));
  const { fixture } = buying;
  const body = { id: fixture.sourceId, RpcProviders };
  const { status, message } = await fixture.ask("PATCH", "/payment-source-extended", body);
  if (status !== 200) throw new Error(message);
  for (let i = 0; i < PURCHASES; i++) await buying.buy();
  await buying.chain.mine(20);
  await buying.chain.stats();
  return buying;
}

/** Runs the buyer's wallet and the sync, as alarms would, until all purchases are locked. */
async function lockAll(buying: PaymentSourceFixture): Promise<void> {
  for (let turns = 0; turns < 60; turns++) {
    await buying.fixture.skipPauses();
    await buying.work();
    await buying.chain.mine();
    await buying.sync();
    const purchases = await buying.shown("purchase");
    if (purchases.every(({ onChainState }) => onChainState === "FundsLocked")) return;
  }
  throw new Error("the purchases are not locked");
}

/** How many escrows the contract holds: one for each purchase, if none was locked twice. */
async function countLocks({ chain, fixture }: PaymentSourceFixture): Promise<number> {
  const path = `/addresses/${fixture.contract.address}/utxos`;
  return (await chain.get<unknown[]>(path)).length;
}

describe("purchases whose first provider", () => {
  it.each([
    ["is killed", { match: "^/", reset: true }],
    ["hangs", { match: "^/", hang: true }],
    ["bans the key", { match: "^/", status: 418 }],
    ["stands still", { match: "^/", behind: 15 }],
    ["takes no transactions", { match: "^/tx/submit", status: 503 }],
    ["evaluates nothing", { match: "^/utils", status: 500 }],
    ["hides the contract's transactions", { match: "^/addresses/.*/transactions", dropRows: 100 }],
  ])("%s are each locked once", async (_, rule) => {
    const buying = await openPurchases("mirror");
    await buying.chain.faults(rule);
    shortenTimeouts([4_000]);
    await lockAll(buying);
    await buying.chain.faults();
    expect(await countLocks(buying)).toBe(PURCHASES);
  });

  it("stays on a fork are each locked once", async () => {
    const buying = await openPurchases("mirror");
    const { chain } = buying;
    // The lock is on both chains, and what came after it on one.
    await buying.work();
    await buying.sync();
    await chain.mine(2);
    await chain.rollback(3, true);
    await chain.mine(6);
    await chain.faults({ match: "^/", fork: 0 });
    await lockAll(buying);
    await chain.faults();
    expect(await countLocks(buying)).toBe(PURCHASES);
  });

  it("fails most calls are each locked once", async () => {
    const buying = await openPurchases("mirror");
    const realFetch = globalThis.fetch;
    let calls = 0;
    vi.stubGlobal("fetch", async (...args: Parameters<typeof realFetch>) => {
      const isFirst = String(args[0]).startsWith(buying.chain.url);
      if (isFirst && ++calls > 3 && calls % 5 !== 0) throw new TypeError("connection reset");
      return realFetch(...args);
    });
    await lockAll(buying);
    vi.unstubAllGlobals();
    expect(await countLocks(buying)).toBe(PURCHASES);
  });
});

describe("a source whose first provider is silent", () => {
  it("reads from Dolos, and evaluates and submits through Ogmios", async () => {
    const buying = await openPurchases("dolos", "ogmios");
    await buying.chain.faults(
      { match: "^/", status: 503 },
      { match: "^dolos:/tx/submit", status: 503 },
    );
    await lockAll(buying);
    await buying.chain.faults();
    expect(await countLocks(buying)).toBe(PURCHASES);
    const { calls } = await buying.chain.stats();
    expect(Object.keys(calls)).toContain("dolos:GET /addresses/{address}/utxos");
  });
});
