import { beforeAll, describe, expect, it, vi } from "vitest";
import { payeeOf } from "./payments.ts";
import { WalletModel } from "./wallet-model.ts";

beforeAll(() => {
  for (const level of ["info", "warn", "error"] as const)
    vi.spyOn(console, level).mockImplementation(() => {});
});

describe("a provider that bans the wallet from reading", () => {
  it("does not block submission of stored transactions to another place", async () => {
    const model = new WalletModel([100]);
    const id = model.askPayment();
    model.ledger.submitFaults = ["lostBefore"];
    await model.run();
    expect(await phases(model)).toEqual(["Stored"]);
    model.ledger.isBanned = true;
    model.pass(5_000);
    await model.run();
    expect(await phases(model)).toEqual(["Sent"]);
    model.ledger.mine();
    expect(model.ledger.paidTo(payeeOf(id))).toBe(1);
  });

  it("has nothing built meanwhile, and all of it afterwards", async () => {
    const model = new WalletModel([100]);
    const id = model.askPayment();
    model.ledger.isBanned = true;
    await model.run();
    expect(await phases(model)).toEqual([]);
    model.ledger.isBanned = false;
    model.pass(60_000);
    await model.run();
    model.ledger.mine();
    expect(model.ledger.paidTo(payeeOf(id))).toBe(1);
  });
});

async function phases(model: WalletModel): Promise<string[]> {
  return (await model.transactions()).map(({ phase }) => phase);
}
