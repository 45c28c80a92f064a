import { env } from "cloudflare:workers";
import { beforeEach, expect, it } from "vitest";
import { emptyTables } from "../../support/app.ts";
import { serialD1 } from "../../support/d1.ts";
import {
  PaymentSourceFixture,
  walletTransactions,
} from "../../support/escrow/payment-source-fixture.ts";

/** Per transaction that a run stores. Each call may wait for another continent. */
const MAX_CALLS_IN_SERIES = 12;

beforeEach(emptyTables);

it.each(["Web3ChainV1", "Web3ChainV2"] as const)(
  "A run that locks a purchase makes at most 12 database calls in series (%s)",
  async (type) => {
    const buying = await PaymentSourceFixture.open(type);
    const [buyer] = Object.values(buying.buyers);
    const work = async () => {
      const { d1, callsInSeries } = serialD1(env.DB);
      await buying.fixture.work(buyer, { DB: d1 });
      return callsInSeries();
    };
    await buying.buy();
    expect(await work()).toBeLessThanOrEqual(MAX_CALLS_IN_SERIES);
    expect(await walletTransactions()).toHaveLength(1);
    // The transaction before it is in a block by now, which is stored too.
    await buying.chain.mine();
    await buying.buy();
    expect(await work()).toBeLessThanOrEqual(MAX_CALLS_IN_SERIES);
    expect(await walletTransactions()).toHaveLength(2);
  },
);
