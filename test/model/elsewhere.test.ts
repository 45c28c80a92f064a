import { beforeAll, describe, expect, it, vi } from "vitest";
import { payeeOf } from "./payments.ts";
import { WalletModel } from "./wallet-model.ts";

const MINUTE_MS = 60_000;

beforeAll(() => {
  for (const level of ["info", "warn", "error"] as const)
    vi.spyOn(console, level).mockImplementation(() => {});
});

/** Lets blocks and runs follow each other for some minutes. */
async function minutes(model: WalletModel, count: number): Promise<void> {
  for (let i = 0; i < count * 3; i++) {
    model.pass(MINUTE_MS / 3);
    model.ledger.mine();
    await model.run();
  }
}

/** Somebody with the same key spends an output, and the wallet has something to do after that. */
async function spentAndAsked(model: WalletModel): Promise<string> {
  model.ledger.spendElsewhere(model.address, 0);
  const id = model.askPayment();
  await minutes(model, 2);
  return id;
}

const states = (model: WalletModel) =>
  model.database.all<{ id: string; state: string }>("SELECT id, state FROM payment ORDER BY id");

describe("a wallet whose key is used elsewhere", () => {
  it("tells which outputs somebody else has spent, and goes on", async () => {
    const model = new WalletModel([400, 300, 200, 100, 50]);
    model.askPayment();
    await minutes(model, 1);
    expect((await model.wallet()).spentElsewhere).toEqual([]);
    await spentAndAsked(model);
    const [output] = model.ledger.spentElsewhere;
    expect((await model.wallet()).spentElsewhere).toMatchObject([{ output }]);
    await minutes(model, 10);
    expect(states(model).map(({ state }) => state)).toEqual(["Done", "Done"]);
  });

  it("pauses what nobody asked for after the third within an hour, until the first is an hour past", async () => {
    const model = new WalletModel([400, 300, 200, 100, 50, 40, 30]);
    model.askPayment();
    await minutes(model, 1);
    for (let i = 0; i < 3; i++) await spentAndAsked(model);
    expect((await model.wallet()).spentElsewhere).toHaveLength(3);
    const unasked = model.askPayment(true);
    const asked = model.askPayment();
    await minutes(model, 12);
    const stateOf = (id: string) => states(model).find((one) => one.id === id)?.state;
    expect([stateOf(asked), stateOf(unasked)]).toEqual(["Done", "Asked"]);
    await minutes(model, 60);
    expect(stateOf(unasked)).toBe("Done");
  });

  it("treats no output as spent that a provider shows late, and pays everything once", async () => {
    const model = new WalletModel([400, 300]);
    for (let i = 0; i < 10; i++) {
      model.ledger.outputsBehind = i % 4;
      model.askPayment();
      await minutes(model, 1);
    }
    expect((await model.wallet()).spentElsewhere).toEqual([]);
    await minutes(model, 1);
    expect(states(model).map(({ state }) => state)).toEqual(Array(10).fill("Done"));
    expect(model.asked.map((id) => model.ledger.paidTo(payeeOf(id)))).toEqual(Array(10).fill(1));
  });
});
