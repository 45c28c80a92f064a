import { env } from "cloudflare:workers";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { askProvider } from "../../../devnet/client/chain.ts";
import { findMonitor } from "../../../src/db/database-monitor.ts";
import { emptyTables } from "../../support/app.ts";
import { sized, sweep } from "../../support/effort.ts";
import { PaymentSourceFixture } from "../../support/escrow/payment-source-fixture.ts";
import { PurchaseFixture } from "../../support/escrow/purchase-fixture.ts";
import { HOUR } from "../../support/escrow/quote-fixture.ts";
import { fullD1 } from "../../support/full-d1.ts";
import { found } from "../../support/registry/registration-fixture.ts";
import { settle } from "../../support/sources/sync.ts";

/** Writes in a row that the database refuses: repeats, and what is done instead, are refused too. */
const REFUSED_WRITES = 4;
const MAX_ROUNDS = 8;

let buying: PaymentSourceFixture;
let trade: PurchaseFixture;
let purchases = 0;

beforeAll(async () => {
  await emptyTables();
  buying = await PaymentSourceFixture.open("Web3ChainV1");
  trade = PurchaseFixture.of(
    buying.quotes,
    found(Object.values(buying.buyers), () => true),
  );
});
beforeEach(() => {
  vi.spyOn(console, "error").mockImplementation(() => {});
  vi.spyOn(console, "warn").mockImplementation(() => {});
});
afterEach(() => {
  vi.restoreAllMocks();
});
afterAll(() => findMonitor(env).endFull());

type Answer = Awaited<ReturnType<PurchaseFixture["purchase"]>>;

/** Sends the same request until it is taken; meanwhile only `database_full` may refuse it. */
async function askUntilRoom(ask: () => Promise<Answer>): Promise<Answer["data"]> {
  for (;;) {
    const { status, data, json } = await ask();
    if (status === 200) return data;
    expect([status, json.error]).toMatchObject([503, { code: "database_full" }]);
  }
}

/** Buys a job while D1 refuses some writes, and lets the wallet and the sync run as the cron would. */
async function buy(DB: D1Database): Promise<void> {
  const { fixture, chain } = buying;
  fixture.bindings = { DB };
  const payByTime = new Date(Date.now() + HOUR).toISOString();
  const quote = await askUntilRoom(() => buying.quotes.quote({ payByTime }) as Promise<Answer>);
  const { id } = await askUntilRoom(() => trade.purchase(quote));
  purchases++;
  for (let round = 0; round < MAX_ROUNDS && (await stateOf(id)) !== "FundsLocked"; round++) {
    await fixture.skipPauses();
    await fixture.work(trade.buyer);
    await settle(chain, fixture.sourceId, { env: { DB } });
    // Reads go on whatever D1 refuses.
    expect((await fixture.ask("GET", "/purchase/diff?network=Preprod")).status).toBe(200);
  }
  expect(await stateOf(id)).toBe("FundsLocked");
}

async function stateOf(id: string): Promise<string | null> {
  return found(await trade.purchases(), (one) => one.id === id).onChainState;
}

/** Locks on the chain, stored records of each side, and stored transactions of wallets. */
async function count(): Promise<Record<string, unknown>> {
  const { chain, contract } = buying.fixture;
  const { body } = await askProvider<{ inline_datum: string | null }[]>(
    chain.url,
    `/addresses/${contract.address}/utxos`,
  );
  const n = (sql: string) => env.DB.prepare(`SELECT count(*) AS n FROM ${sql}`).first("n");
  return {
    locks: body.filter((one) => one.inline_datum !== null).length,
    payments: await n("escrow WHERE side = 'payment'"),
    purchases: await n("escrow WHERE side = 'purchase'"),
    transactions: await n("wallet_transaction"),
  };
}

describe("a purchase on a database that is full for a while", () => {
  it("is locked once, and is stored once, whichever write is refused first", async () => {
    const { d1, writes } = fullD1(env.DB, () => false);
    await buy(d1);
    const total = writes();
    expect(total).toBeGreaterThan(5);
    for (const first of sweep(sized(4, 1), total)) {
      await buy(fullD1(env.DB, (n) => n >= first && n < first + REFUSED_WRITES).d1);
      expect(await count()).toEqual({
        locks: purchases,
        payments: purchases,
        purchases,
        transactions: purchases,
      });
    }
  });
});
