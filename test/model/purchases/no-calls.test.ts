import { expect, it } from "vitest";
import { sameEachTime } from "../same-each-time.ts";
import { PurchaseModel } from "./purchase-model.ts";
import { PAYERS } from "./quotes.ts";

sameEachTime();

async function runAll(model: PurchaseModel, ms: number): Promise<void> {
  model.pass(ms);
  for (const i of PAYERS.keys()) await model.run(i);
}

const phases = ({ database }: PurchaseModel) =>
  database
    .all<{ phase: string }>("SELECT phase FROM wallet_transaction ORDER BY created_at")
    .map(({ phase }) => phase);

it("looks at what is under way while the provider has no calls left to deal a purchase, and deals it afterwards", async () => {
  const model = new PurchaseModel([[100], [100], [100]]);
  expect(await model.buy(0, 1)).toBeNull();
  for (let i = 0; i < 2; i++) await runAll(model, 1_500);
  expect(phases(model)).toEqual(["Sent"]);

  model.callsFor = "nothing";
  expect(await model.buy(2, 2)).toBeNull();
  model.ledger.mine();
  for (let i = 0; i < 3; i++) await runAll(model, 20_000);
  expect(phases(model)).toEqual(["Confirmed"]);

  model.callsFor = "all";
  for (let i = 0; i < 3; i++) await runAll(model, 20_000);
  expect(phases(model)).toEqual(["Confirmed", "Sent"]);
});

it("deals a purchase by the calls that are kept for what has a deadline", async () => {
  const model = new PurchaseModel([[100], [100], [100]]);
  model.callsFor = "deadlines";
  expect(await model.buy(0, 1)).toBeNull();
  for (let i = 0; i < 2; i++) await runAll(model, 1_500);
  expect(phases(model)).toEqual(["Sent"]);
});
