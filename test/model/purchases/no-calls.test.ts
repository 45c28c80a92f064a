import { expect, it } from "vitest";
import { sameEachTime } from "../same-each-time.ts";
import { Market } from "./market.ts";
import { PAYERS } from "./quotes.ts";

sameEachTime();

async function runAll(market: Market, ms: number): Promise<void> {
  market.pass(ms);
  for (const i of PAYERS.keys()) await market.run(i);
}

const phases = ({ database }: Market) =>
  database
    .all<{ phase: string }>("SELECT phase FROM wallet_transaction ORDER BY created_at")
    .map(({ phase }) => phase);

it("looks at what is under way while the provider has no calls left to deal a purchase, and deals it afterwards", async () => {
  const market = new Market([[100], [100], [100]]);
  expect(await market.buy(0, 1)).toBeNull();
  for (let i = 0; i < 2; i++) await runAll(market, 1_500);
  expect(phases(market)).toEqual(["Sent"]);

  market.callsFor = "nothing";
  expect(await market.buy(2, 2)).toBeNull();
  market.ledger.mine();
  for (let i = 0; i < 3; i++) await runAll(market, 20_000);
  expect(phases(market)).toEqual(["Confirmed"]);

  market.callsFor = "all";
  for (let i = 0; i < 3; i++) await runAll(market, 20_000);
  expect(phases(market)).toEqual(["Confirmed", "Sent"]);
});

it("deals a purchase by the calls that are kept for what has a deadline", async () => {
  const market = new Market([[100], [100], [100]]);
  market.callsFor = "deadlines";
  expect(await market.buy(0, 1)).toBeNull();
  for (let i = 0; i < 2; i++) await runAll(market, 1_500);
  expect(phases(market)).toEqual(["Sent"]);
});
