/** The lives that the demo plays, on a chain whose clock is moved by hand. */
import { describe, expect, it } from "vitest";
import { ACTOR_FUNDS, CASTS, type Wallet } from "../../../devnet/demo/actors/wallets.ts";
import { DEMO_DOLLAR } from "../../../devnet/demo/currency.ts";
import { endsOf, LIVES } from "../../../devnet/demo/lives.ts";
import { HISTORY_MS, playHistory } from "../../../devnet/demo/scenario.ts";
import { createChain } from "../../../devnet/ledger/chain.ts";
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
