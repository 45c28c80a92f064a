import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, it } from "vitest";
import { openDb } from "../../../src/db/client.ts";
import { moveCursor } from "../../../src/sources/cursor.ts";
import { emptyTables } from "../../support/app.ts";
import {
  PaymentSourceFixture,
  type ShownEscrow,
} from "../../support/escrow/payment-source-fixture.ts";
import { datumOf, HOUR } from "../../support/escrow/quote-fixture.ts";

beforeEach(emptyTables);

/** A quote with a purchase that no wallet locks, and what is locked under its identifier. */
class Quoted {
  readonly buying: PaymentSourceFixture;
  readonly #quote: ShownEscrow;

  private constructor(buying: PaymentSourceFixture, quote: ShownEscrow) {
    this.buying = buying;
    this.#quote = quote;
  }

  static async open(): Promise<Quoted> {
    const buying = await PaymentSourceFixture.open();
    await buying.buy();
    return new Quoted(buying, await buying.only("payment"));
  }

  order(amount: string, collateral = "0") {
    const { fixture } = this.buying;
    return {
      ...{ as: crypto.randomUUID(), version: "Web3ChainV1", buyer: "buyer-0", collateral },
      funds: [{ unit: "", amount }],
      datum: datumOf(this.#quote, fixture.sellers[0].address),
    };
  }

  /** Locks less than the price, in a separate block. */
  async lockLess(amount: string): Promise<string> {
    const [locked] = await this.buying.chain.act([{ do: "lock", ...this.order(amount) }]);
    await this.buying.sync();
    return locked?.txHash ?? "";
  }

  /** Lets pay-by pass. */
  async expire(): Promise<void> {
    await this.buying.chain.advance(HOUR + 60_000);
    await this.buying.chain.mine();
    await this.buying.sync();
  }

  /** Takes the newest blocks out of the chain, and makes more without what was in them. */
  async rollBack(blocks: number): Promise<string[]> {
    const gone = await this.buying.chain.rollback(blocks);
    await this.buying.chain.mine(blocks + 1);
    await this.buying.sync();
    return gone;
  }

  /** State, action, note and histories of the payment and of the purchase. */
  async both() {
    const all = [await this.buying.only("payment"), await this.buying.only("purchase")];
    return all.map(({ onChainState, NextAction, CurrentTransaction, ...rest }) => ({
      onChainState,
      requestedAction: NextAction.requestedAction,
      note: NextAction.errorNote,
      current: CurrentTransaction,
      transactions: rest.TransactionHistory,
      actions: rest.ActionHistory,
    }));
  }
}

const noted = (...hashes: string[]) =>
  expect.stringMatching(
    `^${hashes.map((hash) => `Transaction ${hash} locks other terms: [^;]*`).join("; then: ")}$`,
  );
const unshown = { current: null, transactions: [] };

it("a lock whose collateral would cost the seller much of the price is noted, and one that fits still taken", async () => {
  const quoted = await Quoted.open();
  const { chain } = quoted.buying;
  const [large] = await chain.act([{ do: "lock", ...quoted.order("5000000", "370000000") }]);
  await quoted.buying.sync();
  const [payment] = await quoted.both();
  expect(payment).toMatchObject({ ...unshown, onChainState: null });
  expect(payment?.note).toMatch(
    new RegExp(`^Transaction ${large?.txHash} locks other terms: the collateral is 370000000`),
  );
  await chain.act([{ do: "lock", ...quoted.order("5000000", "5000000") }]);
  await quoted.buying.sync();
  expect((await quoted.both())[0]).toMatchObject({ onChainState: "FundsLocked", note: null });
});

describe("a lock of something else that is rolled back", () => {
  it("before pay-by leaves a quote that expires unpaid, as if it had never been", async () => {
    const quoted = await Quoted.open();
    const [payment, purchase] = await quoted.both();
    const hash = await quoted.lockLess("4999999");
    expect(await quoted.both()).toMatchObject([
      { onChainState: null, requestedAction: "WaitingForExternalAction", note: noted(hash) },
      { onChainState: null, requestedAction: "FundsLockingRequested", note: noted(hash) },
    ]);
    for (const one of await quoted.both()) expect(one).toMatchObject(unshown);
    await quoted.rollBack(1);
    expect(await quoted.both()).toEqual([payment, purchase]);
    await quoted.expire();
    for (const one of await quoted.both())
      expect(one).toMatchObject({
        ...unshown,
        ...{ onChainState: null, requestedAction: "None", note: null },
      });
  });

  it("after pay-by takes the verdict back with the last of them", async () => {
    const quoted = await Quoted.open();
    const first = await quoted.lockLess("4999998");
    const second = await quoted.lockLess("4999999");
    await quoted.expire();
    const invalid = { onChainState: "FundsOrDatumInvalid", requestedAction: "None", ...unshown };
    for (const one of await quoted.both())
      expect(one).toMatchObject({ ...invalid, note: noted(first, second) });
    await quoted.rollBack(2);
    for (const one of await quoted.both())
      expect(one).toMatchObject({ ...invalid, note: noted(first) });
    await quoted.rollBack(4);
    for (const one of await quoted.both())
      expect(one).toMatchObject({
        ...unshown,
        ...{ onChainState: null, requestedAction: "None", note: null },
      });
  });

  it("and comes again is noted again, once, however often it is read", async () => {
    const quoted = await Quoted.open();
    const hash = await quoted.lockLess("4999999");
    const gone = await quoted.rollBack(1);
    await quoted.buying.chain.replay(gone);
    for (let pass = 0; pass < 2; pass++) {
      await quoted.buying.sync();
      for (const one of await quoted.both())
        expect(one).toMatchObject({ ...unshown, note: noted(hash) });
      await openDb(env).batch(moveCursor(quoted.buying.fixture.sourceId, null));
    }
  });

  it("beside one that fits, in the same transaction, leaves nothing with it", async () => {
    const quoted = await Quoted.open();
    const before = await quoted.both();
    await quoted.buying.chain.act([
      { do: "lockAll", orders: [quoted.order("4999999"), quoted.order("5000000")] },
    ]);
    await quoted.buying.sync();
    expect((await quoted.both())[0]).toMatchObject({ onChainState: "FundsLocked", note: null });
    await quoted.rollBack(1);
    for (const [i, { onChainState, requestedAction, note }] of (await quoted.both()).entries())
      expect(before[i]).toMatchObject({ onChainState, requestedAction, note });
    await quoted.expire();
    for (const one of await quoted.both())
      expect(one).toMatchObject({ onChainState: null, requestedAction: "None", note: null });
  });
});
