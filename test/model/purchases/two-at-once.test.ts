import { expect, it } from "vitest";
import { sameEachTime } from "../same-each-time.ts";
import { PurchaseModel } from "./purchase-model.ts";

/** More calls to the journal than a run has. */
const CALLS = 4;

sameEachTime();

async function runAll(model: PurchaseModel, wallets: readonly number[]): Promise<void> {
  for (const i of wallets) await model.run(i);
}

it("is not taken for a restored database that other wallets lock while any one call of a wallet is on its way to the journal", async () => {
  for (let at = 1; at <= CALLS; at++) {
    const model = new PurchaseModel([[100], [100], [100]]);
    for (let n = 0; n < 6; n++) await model.buy(2 * n, n);
    model.pass(1_100);
    await model.run(0, {}, { at, others: () => runAll(model, [1, 2]) });
    await runAll(model, [0, 1, 2]);
    const locks = model.database.all("SELECT 1 FROM wallet_transaction").length;
    expect({ at, locks, halts: model.needlessHalts }).toEqual({ at, locks: 3, halts: 0 });
  }
});
