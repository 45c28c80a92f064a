import { expect, it } from "vitest";
import { sameEachTime } from "../same-each-time.ts";
import { Market } from "./market.ts";

/** More calls to the journal than a run has. */
const CALLS = 4;

sameEachTime();

async function runAll(market: Market, wallets: readonly number[]): Promise<void> {
  for (const i of wallets) await market.run(i);
}

it("is not taken for a restored database that other wallets lock while any one call of a wallet is on its way to the journal", async () => {
  for (let at = 1; at <= CALLS; at++) {
    const market = new Market([[100], [100], [100]]);
    for (let n = 0; n < 6; n++) await market.buy(2 * n, n);
    market.pass(1_100);
    await market.run(0, {}, { at, others: () => runAll(market, [1, 2]) });
    await runAll(market, [0, 1, 2]);
    const locks = market.database.all("SELECT 1 FROM wallet_transaction").length;
    expect({ at, locks, halts: market.needlessHalts }).toEqual({ at, locks: 3, halts: 0 });
  }
});
