/** The lives that the demo plays, on a chain whose clock is moved by hand. */
import { describe, expect, it } from "vitest";
import { ACTOR_FUNDS, CASTS, type Wallet } from "../../../devnet/demo/actors/wallets.ts";
import { DEMO_DOLLAR } from "../../../devnet/demo/currency.ts";
import { endsOf, LIVES } from "../../../devnet/demo/lives.ts";
import { HISTORY_MS, playHistory, presentLives } from "../../../devnet/demo/scenario.ts";
import { createChain } from "../../../devnet/ledger/chain.ts";
import type { LedgerRejection } from "../../../devnet/ledger/rejection.ts";
import { ON_CHAIN_STATES } from "../../../src/chain/network.ts";

const BEGINS = Date.UTC(2026, 0, 1);
const makeChain = () =>
  createChain({ funds: ACTOR_FUNDS, autoMine: true, begins: BEGINS, clock: "stands" });
type DemoChain = ReturnType<typeof makeChain>;

const SELLING: readonly Wallet[] = Object.values(CASTS).flatMap(({ sellers }) => sellers);

/** Transactions of a chain, the first first. */
const transactionsOf = (chain: DemoChain) => chain.view().blocks.flatMap(({ txs }) => txs);

/** Genesis outputs of the selling wallets which are still there. */
function untouched(chain: DemoChain): number {
  const [genesis] = makeChain().utxosAt(SELLING[0]?.address ?? "");
  const seed = genesis?.txHash;
  return SELLING.flatMap(({ address }) => chain.utxosAt(address)).filter(
    ({ txHash }) => txHash === seed,
  ).length;
}

function rethrow(error: LedgerRejection): never {
  throw error;
}

describe("the demo's past", () => {
  it("reaches every on-chain state in two days, and leaves the selling wallets' outputs alone", async () => {
    const chain = makeChain();
    const before = untouched(chain);
    const played = await playHistory(chain);
    expect(played.map(({ ends }) => ends)).toEqual(endsOf(LIVES));
    expect(new Set(played.map(({ ends }) => ends))).toEqual(new Set(ON_CHAIN_STATES));
    expect(chain.now()).toBe(BEGINS + HISTORY_MS);
    expect(untouched(chain)).toBe(before);
    expect(before).toBeGreaterThan(0);
    const times = played.map(({ endedAt }) => endedAt);
    expect(Math.max(...times) - Math.min(...times)).toBeGreaterThan(HISTORY_MS / 2);
  });

  it("has payments in tokens, collateral and return addresses, and moves several at once", async () => {
    const chain = makeChain();
    await playHistory(chain);
    const transactions = transactionsOf(chain);
    const amounts = transactions.flatMap(({ produced }) =>
      produced.flatMap(({ output }) => output.amount),
    );
    expect(amounts.map(({ unit }) => unit)).toContain(DEMO_DOLLAR);
    const together = transactions.map(({ redeemers }) => redeemers.length);
    expect(Math.max(...together)).toBe(4);
    expect(LIVES.some(({ returns }) => returns)).toBe(true);
    expect(LIVES.some(({ collateral }) => collateral)).toBe(true);
  });
});

describe("the demo's present", () => {
  it("changes something within each half minute, and nothing is refused", () => {
    const chain = makeChain();
    const tick = presentLives(chain, rethrow);
    const times: number[] = [];
    for (let second = 0; second < 600; second++) {
      const before = chain.tip().height;
      tick();
      if (chain.tip().height > before) times.push(second);
      chain.advance(1_000);
    }
    const gaps = times.slice(1).map((time, i) => time - (times[i] ?? 0));
    expect(Math.max(...gaps)).toBeLessThanOrEqual(20);
    expect(times.at(-1)).toBeGreaterThan(570);
    // Each life locks once; most have moved on since.
    expect(times.length).toBeGreaterThan(60);
  });

  it("goes on after a step that came too late, and tells of it", () => {
    const chain = makeChain();
    const lost: LedgerRejection[] = [];
    const tick = presentLives(chain, (reason) => lost.push(reason));
    tick();
    chain.advance(3_600_000);
    for (let second = 0; second < 60; second++) {
      tick();
      chain.advance(1_000);
    }
    expect(lost.map(({ token }) => token)).toEqual(["OutsideValidityIntervalUTxO"]);
    expect(chain.tip().height).toBeGreaterThan(3);
  });
});
