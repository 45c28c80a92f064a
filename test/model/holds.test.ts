import { beforeAll, describe, expect, it, vi } from "vitest";
import { payeeOf } from "./payments.ts";
import { WalletModel } from "./wallet-model.ts";

beforeAll(() => {
  for (const level of ["info", "warn", "error"] as const)
    vi.spyOn(console, level).mockImplementation(() => {});
});

const since = (model: WalletModel) =>
  model.database.all<{ blocked_since: number | null }>("SELECT blocked_since FROM hot_wallet")[0]
    ?.blocked_since;

describe("what holds up a wallet", () => {
  it("is its funds, from the first try that lacked them until it can pay", async () => {
    const model = new WalletModel([1]);
    model.askPayment();
    await model.run();
    const { blocker } = await model.wallet();
    expect(blocker).toMatch(/^the wallet lacks \d+ minor units of the native coin/);
    const begun = model.ledger.now;
    expect(since(model)).toBe(begun);
    model.pass(60_000);
    model.askPayment();
    await model.run();
    expect(since(model)).toBe(begun);
    model.ledger.fund(model.address, new Map([["", 100_000_000n]]));
    model.pass(60_000);
    await model.run();
    expect(await model.wallet()).toMatchObject({ blocker: null });
    expect(since(model)).toBeNull();
  });

  it("is not its funds while all of its funds are in pending transactions", async () => {
    const model = new WalletModel([20]);
    // As late as can be: all that it is shown was spent by the first of them.
    model.ledger.outputsBehind = 3;
    for (let i = 0; i < 4; i++) {
      model.askPayment();
      await model.run();
      expect(await model.wallet()).toMatchObject({ blocker: null });
      model.pass(60_000);
    }
    model.ledger.mine();
    expect(model.asked.map((id) => model.ledger.paidTo(payeeOf(id)))).toEqual([1, 1, 1, 1]);
  });

  it("is its provider, and stays so while nothing is tried", async () => {
    const model = new WalletModel([100]);
    model.askPayment();
    model.ledger.isBanned = true;
    await model.run();
    const blocker = "waits for the chain provider: banned";
    expect(await model.wallet()).toMatchObject({ blocker });
    model.ledger.isBanned = false;
    await model.run();
    expect(await model.wallet()).toMatchObject({ blocker });
    model.pass(60_000);
    await model.run();
    expect(await model.wallet()).toMatchObject({ blocker: null });
  });

  it("is a database that was set back", async () => {
    const model = new WalletModel([100]);
    model.database.save();
    model.askPayment();
    await model.run();
    model.database.restore();
    model.askPayment();
    await model.run();
    expect(await model.wallet()).toMatchObject({
      blocker: "the database was restored: the wallet sends nothing until the sync has caught up",
    });
  });

  it("is nothing of its own when one task alone cannot be done", async () => {
    const model = new WalletModel([100, 90]);
    model.askStep({ isRefused: true });
    await model.run();
    expect(await model.wallet()).toMatchObject({ blocker: null });
  });

  it("is nothing of its own when somebody else has just spent what one task alone spends", async () => {
    const model = new WalletModel([100, 90]);
    model.askStep();
    model.ledger.overtake(model.outputOf(0));
    await model.run();
    expect(model.database.all("SELECT state, hash FROM step")).toEqual([
      { state: "Asked", hash: null },
    ]);
    expect(await model.wallet()).toMatchObject({ blocker: null });
  });
});
