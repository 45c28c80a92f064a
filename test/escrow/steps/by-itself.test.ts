import { beforeEach, describe, expect, it } from "vitest";
import type { PaymentSourceType } from "../../../src/chain/network.ts";
import { runSchedule } from "../../../src/schedule.ts";
import { emptyTables } from "../../support/app.ts";
import { PaymentSourceFixture } from "../../support/escrow/payment-source-fixture.ts";
import { PurchaseFixture } from "../../support/escrow/purchase-fixture.ts";
import { objectsLike } from "../../support/objects.ts";
import { settle } from "../../support/sources/sync.ts";

beforeEach(emptyTables);

const HOUR = 60 * 60_000;
const MAX_MINUTES = 30;

/** A service that sells and buys, in which only the cron, and what it wakes, does anything. */
class Unattended {
  readonly fixture: PurchaseFixture;
  readonly #woken: Set<string>;

  private constructor(fixture: PurchaseFixture, woken: Set<string>) {
    this.fixture = fixture;
    this.#woken = woken;
  }

  static async open(type: PaymentSourceType): Promise<Unattended> {
    const fixture = await PurchaseFixture.open(type, { published: true });
    const woken = new Set<string>();
    const wake = async (_: string, vkey: string) => void woken.add(vkey);
    fixture.quotes.fixture.bindings = {
      CHAIN_CLOCK: "tip",
      HOT_WALLET: objectsLike("HOT_WALLET", () => ({ wake })),
    };
    return new Unattended(fixture, woken);
  }

  /** Quotes and purchases a job. @returns the escrow's identifier */
  async buy(): Promise<string> {
    const quote = await this.fixture.quote();
    const { status, message } = await this.fixture.purchase(quote);
    expect([status, message]).toEqual([200, ""]);
    return quote.blockchainIdentifier;
  }

  /** Lets minutes of the cron pass until both sides are in a state. */
  async until(state: string): Promise<void> {
    const { quotes } = this.fixture;
    const { chain, sourceId } = quotes.fixture;
    for (let minute = 0; minute < MAX_MINUTES; minute++) {
      await runSchedule(quotes.fixture.env());
      const wallets = [...quotes.fixture.sellers, this.fixture.buyer];
      const woken = wallets.filter(({ vkey }) => this.#woken.delete(vkey));
      for (const wallet of woken) await quotes.fixture.work(wallet);
      await settle(chain, sourceId, { env: { BLOCKFROST_URL_PREPROD: chain.url } });
      const shown = [...(await quotes.payments()), ...(await this.fixture.purchases())];
      if (shown.length === 2 && shown.every(({ onChainState }) => onChainState === state)) return;
    }
    const shown = [...(await quotes.payments()), ...(await this.fixture.purchases())];
    throw new Error(JSON.stringify(shown.map((one) => [one.onChainState, one.NextAction])));
  }

  async later(ms: number): Promise<void> {
    const { chain } = this.fixture.quotes.fixture;
    await chain.advance(ms);
    await chain.mine();
  }
}

describe.each(["Web3ChainV1", "Web3ChainV2"] as const)("an escrow of %s", (type) => {
  it("pays the seller for a result without any request after the result", async () => {
    const service = await Unattended.open(type);
    const blockchainIdentifier = await service.buy();
    await service.until("FundsLocked");
    const { status } = await service.fixture.ask("/payment/submit-result", {
      network: "Preprod",
      blockchainIdentifier,
      submitResultHash: "ab".repeat(32),
    });
    expect(status).toBe(200);
    await service.until("ResultSubmitted");
    await service.later(9 * HOUR);
    await service.until("Withdrawn");
    const [payment] = await service.fixture.quotes.payments();
    expect(payment.NextAction).toMatchObject({ requestedAction: "None", errorType: null });
  });

  it("comes to its end with nobody's help: the buyer is refunded without a result", async () => {
    const service = await Unattended.open(type);
    await service.buy();
    await service.until("FundsLocked");
    await service.later(3 * HOUR);
    await service.until("RefundWithdrawn");
    const [purchase] = await service.fixture.purchases();
    expect(purchase.NextAction).toMatchObject({ requestedAction: "None", errorType: null });
  });
});

describe("what the sync finds is done before any run of the cron:", () => {
  it("a refund that is due when its lock is seen is collected, and sent again once it is rolled back", async () => {
    const buying = await PaymentSourceFixture.open("Web3ChainV2");
    const { chain, fixture } = buying;
    const woken: string[] = [];
    const wake = async (_: string, vkey: string) => void woken.push(vkey);
    fixture.bindings = {
      CHAIN_CLOCK: "tip",
      HOT_WALLET: objectsLike("HOT_WALLET", () => ({ wake })),
    };
    const buyer = buying.buyers["buyer-0"];
    /** Follows the chain, and has the wallets work that this wakes. */
    const follow = async () => {
      await settle(chain, fixture.sourceId, { env: fixture.env() });
      const wallets = woken.splice(0);
      for (const vkey of wallets) if (vkey === buyer?.vkey) await buying.work();
      return wallets;
    };
    await buying.buy();
    await buying.work();
    await chain.advance(3 * HOUR);
    await chain.mine();
    await chain.holdBlocks();

    // What a pass has stored is done, though it fails after that.
    await chain.faults({ match: "/addresses/.*/transactions", after: 1, status: 500 });
    expect(await follow()).toEqual([buyer?.vkey]);
    await chain.faults();
    const [refund] = await chain.mempool();
    await chain.mine();
    expect(await follow()).toEqual([]);
    expect(await buying.only("purchase")).toMatchObject({ onChainState: "RefundWithdrawn" });

    await buying.work();
    expect(await chain.rollback(1)).toHaveLength(1);
    await chain.mine(2);
    expect(await follow()).toEqual([buyer?.vkey]);
    expect(await chain.mempool()).toEqual([refund]);
    await chain.mine();
    await follow();
    expect(await buying.only("purchase")).toMatchObject({ onChainState: "RefundWithdrawn" });
  });
});

describe("PATCH /payment-source-extended autoWithdrawRefunds", () => {
  it.each([
    [true, "false", "RefundWithdrawn"],
    [false, "true", "FundsLocked"],
    [null, "true", "RefundWithdrawn"],
    [null, "false", "FundsLocked"],
  ])("%j, AUTO_WITHDRAW_REFUNDS being %s: %s", async (autoWithdrawRefunds, setting, state) => {
    const buying = await PaymentSourceFixture.open("Web3ChainV2");
    const { chain, fixture } = buying;
    fixture.bindings = { CHAIN_CLOCK: "tip", AUTO_WITHDRAW_REFUNDS: setting };
    await buying.buy();
    await buying.work();
    await buying.sync();
    const path = "/payment-source-extended";
    await fixture.ask("PATCH", path, {
      id: fixture.sourceId,
      autoWithdrawRefunds: !autoWithdrawRefunds,
    });
    const { data } = await fixture.ask<object>("PATCH", path, {
      id: fixture.sourceId,
      autoWithdrawRefunds,
    });
    expect(data).toMatchObject({ autoWithdrawRefunds, autoWithdrawPayments: null });
    await chain.advance(3 * HOUR);
    await chain.mine();
    await buying.work();
    await buying.sync();
    expect(await buying.only("purchase")).toMatchObject({ onChainState: state });
  });
});
