import { beforeAll, describe, expect, it, vi } from "vitest";
import { isPending } from "../../src/wallets/model/phases.ts";
import type { WalletTransaction } from "../../src/wallets/model/wallet-transaction.ts";
import { payeeOfStep } from "./steps.ts";
import { WalletModel } from "./wallet-model.ts";

beforeAll(() => {
  for (const level of ["info", "warn", "error"] as const)
    vi.spyOn(console, level).mockImplementation(() => {});
});

const MINUTE = 60_000;

/** What waits for a block. */
async function waiting(model: WalletModel): Promise<WalletTransaction[]> {
  return (await model.transactions()).filter(({ phase }) => isPending(phase));
}

const taskIds = (transactions: readonly WalletTransaction[]) =>
  transactions.map(({ tasks }) => tasks.map(({ id }) => id));

/** Rows of steps, in their order. */
const rows = (model: WalletModel) =>
  model.database.all<{ id: string; state: string; failures: number; reason: string | null }>(
    "SELECT id, state, failures, reason FROM step ORDER BY id",
  );

describe("steps of a wallet", () => {
  it("use the only output, which pays the fee and is the collateral", async () => {
    const model = new WalletModel([12]);
    const [[only] = []] = model.ledger.unspentAt(model.address);
    model.askStep();
    await model.run();
    const [sent] = await waiting(model);
    expect(sent).toMatchObject({ tasks: [{ id: "s0" }], collateral: { inputs: [only] } });
    expect(sent?.inputs).toEqual(expect.arrayContaining([only, model.outputOf(0)]));
    model.pass(20_000);
    model.ledger.mine();
    await model.run();
    expect(rows(model)).toMatchObject([{ state: "Done", failures: 0 }]);
  });

  it("spend parallel outputs, which the change of the first of them makes", async () => {
    const model = new WalletModel([500]);
    model.askStep({ isReplaceable: true });
    await model.run();
    model.askStep();
    model.askPayment();
    await model.run();
    const [first, second, payment] = await waiting(model);
    expect(first?.chainedInput).not.toBeNull();
    expect(first?.made).toHaveLength(5);
    expect(second).toMatchObject({ chainedInput: null, tasks: [{ id: "s1" }] });
    expect(payment).toMatchObject({
      chainedInput: first?.changeOutput,
      tasks: [{ feature: "payment" }],
    });
  });

  it("do not hold up payments, nor those them", async () => {
    const model = new WalletModel([500, 90, 80, 70, 5]);
    for (let i = 0; i < 3; i++) model.askStep({ isAlone: true });
    model.askPayment();
    await model.run();
    const sent = await waiting(model);
    expect(taskIds(sent)).toEqual([["s0"], ["s1"], ["s2"], ["p1"]]);
    const made = sent.map(({ hash }) => hash);
    for (const { inputs } of sent)
      expect(inputs.filter((input) => made.includes(input.slice(0, 64)))).toEqual([]);
  });

  it("wait when three parallel outputs have twenty unconfirmed each", async () => {
    const model = new WalletModel([500, 90, 80, 70, 60, 5]);
    for (let i = 0; i < 70; i++) model.askStep({ isAlone: true });
    await model.run();
    expect(await waiting(model)).toHaveLength(60);
    model.pass(20_000);
    model.ledger.mine();
    await model.run();
    expect(rows(model).filter(({ state }) => state === "Asked")).toEqual([]);
  });

  it("wait when what waits may use sixty million units of memory", async () => {
    const model = new WalletModel([500, 90, 80, 70, 5]);
    for (let i = 0; i < 40; i++) model.askStep({ isMeasured: true });
    await model.run();
    const memory = (await waiting(model)).map((one) => one.memory);
    expect(Math.max(...memory)).toBeLessThanOrEqual(14_000_000);
    const sum = memory.reduce((a, b) => a + b, 0);
    expect(sum).toBeLessThanOrEqual(60_000_000);
    expect(sum).toBeGreaterThan(46_000_000);
    model.pass(20_000);
    model.ledger.mine();
    await model.run();
    expect((await waiting(model)).length).toBeGreaterThan(0);
  });

  it("are built anew at once when one of them is overtaken, and so is what hung on it", async () => {
    const model = new WalletModel([500, 90, 5]);
    for (let i = 0; i < 4; i++) model.askStep({ isReplaceable: true, isAlone: true });
    await model.run();
    model.ledger.overtake(model.outputOf(1));
    model.fold();
    await model.run();
    const open = await model.transactions();
    const ended = open.filter(({ phase }) => phase === "Orphaned");
    expect(taskIds(ended)).toContainEqual(["s1"]);
    expect(
      taskIds(await waiting(model))
        .flat()
        .toSorted(),
    ).toEqual(["s0", "s2", "s3"]);
    model.pass(20_000);
    model.ledger.mine();
    await model.run();
    expect(rows(model).filter(({ state }) => state === "Done")).toHaveLength(3);
  });

  it("come before others when little time is left, on what is confirmed", async () => {
    const model = new WalletModel([500, 90, 80, 70, 60, 5]);
    for (let i = 0; i < 3; i++) model.askStep({ isAlone: true });
    await model.run();
    model.askStep();
    model.askStep({ deadline: model.ledger.now + 9 * MINUTE });
    await model.run();
    const [urgent, other] = (await waiting(model)).slice(3);
    const made = (await waiting(model)).map(({ hash }) => hash);
    expect(urgent).toMatchObject({ tasks: [{ id: "s4" }] });
    expect(urgent?.inputs.filter((input) => made.includes(input.slice(0, 64)))).toEqual([]);
    expect(other).toMatchObject({ tasks: [{ id: "s3" }] });
  });

  it("that fail leave their transaction when the node names them, and the others go at once", async () => {
    const model = new WalletModel([500, 90, 5]);
    for (let i = 0; i < 4; i++) model.askStep({ isRefused: i === 1 });
    await model.run();
    expect(taskIds(await waiting(model))).toEqual([["s0", "s2", "s3"]]);
    expect(rows(model)[1]).toMatchObject({
      state: "Asked",
      failures: 1,
      reason: expect.stringMatching(/^ScriptFailedError: a script of the transaction refuses it/),
    });
  });

  it("that fail are found in halves when the node names nobody", async () => {
    const model = new WalletModel([500, 90, 5]);
    model.ledger.namesFailures = false;
    for (let i = 0; i < 4; i++) model.askStep({ isRefused: i === 1 });
    await model.run();
    expect(taskIds(await waiting(model))).toEqual([["s0"], ["s2", "s3"]]);
  });

  it("that fail alone are tried after growing pauses, in no company, and end after ten times", async () => {
    const model = new WalletModel([500, 90, 5]);
    model.askStep({ isRefused: true });
    for (let i = 1; rows(model)[0]?.state === "Asked" && i < 100; i++) {
      model.askStep();
      model.pass(MINUTE);
      model.ledger.mine();
      await model.run();
    }
    expect(rows(model)[0]).toMatchObject({ state: "Failed", failures: 10 });
    expect(rows(model).filter(({ state }) => state === "Asked")).toEqual([]);
  });

  it("whose script failed in a block are built again alone, as is every transaction with the same collateral", async () => {
    const model = new WalletModel([500, 90, 80, 5]);
    for (let i = 0; i < 3; i++) model.askStep();
    await model.run();
    model.askStep();
    await model.run();
    model.pass(20_000);
    await model.failScript(0);
    await model.run();
    model.pass(5_000);
    await model.run();
    const open = await model.transactions();
    expect(open.map(({ phase }) => phase).slice(0, 2)).toEqual(["Failed", "Orphaned"]);
    expect(taskIds(await waiting(model))).toEqual([["s3"], ["s0"], ["s1"], ["s2"]]);
    model.pass(20_000);
    model.ledger.mine();
    await model.run();
    expect(rows(model).map(({ state }) => state)).toEqual(["Done", "Done", "Done", "Done"]);
  });

  it("whose output is not there any more leave, as a node names it", async () => {
    const model = new WalletModel([500, 90, 5]);
    for (let i = 0; i < 3; i++) model.askStep({ isMeasured: true });
    model.ledger.overtake(model.outputOf(1));
    await model.run();
    const [first, second] = await model.transactions();
    expect(first).toMatchObject({ phase: "Refused", tasks: { length: 3 } });
    expect(taskIds(second ? [second] : [])).toEqual([["s0", "s2"]]);
    expect(rows(model)[1]?.reason).toMatch(/^MissingInputError/);
  });

  it("are on their way once, whatever their record says", async () => {
    const model = new WalletModel([500, 90, 80, 5]);
    model.askStep();
    await model.run();
    model.database.run("UPDATE step SET state = 'Asked'");
    await model.run();
    expect(await waiting(model)).toHaveLength(1);
    expect(rows(model)[0]?.reason).toMatch(/^PriorTransactionPendingError/);
  });

  it("end when their deadline is over", async () => {
    const model = new WalletModel([500, 90, 5]);
    model.askStep({ deadline: model.ledger.now - 3 * MINUTE });
    await model.run();
    expect(rows(model)).toMatchObject([{ state: "Over" }]);
  });

  it("are sent again, each parallel output's alone, when a node has dropped them without a word", async () => {
    const model = new WalletModel([500, 90, 80, 5]);
    for (let i = 0; i < 4; i++) model.askStep({ isAlone: true });
    model.askPayment();
    await model.run();
    // Not the oldest of all.
    model.ledger.evict(1);
    model.pass(MINUTE);
    await model.run();
    model.pass(20_000);
    model.ledger.mine();
    await model.run();
    expect(rows(model).map(({ state }) => state)).toEqual(["Done", "Done", "Done", "Done"]);
  });

  it("are sent again at once when a node refuses what hangs on them, since it has dropped them", async () => {
    const model = new WalletModel([500, 90, 5]);
    model.askStep();
    model.askStep({ isAlone: true });
    await model.run();
    model.ledger.evict(0);
    model.askStep();
    await model.run();
    model.pass(5_000);
    await model.run();
    model.pass(20_000);
    model.ledger.mine();
    await model.run();
    expect(rows(model).map(({ state }) => state)).toEqual(["Done", "Done", "Done"]);
  });

  it("do not wait for a node that does not know what they hang on", async () => {
    const model = new WalletModel([500, 90, 5]);
    model.askStep();
    await model.run();
    model.askStep({ isAlone: true, isReplaceable: true });
    model.askStep({ isAlone: true });
    await model.run();
    expect(taskIds(await waiting(model))).toEqual([["s0"], ["s2"], ["s1"]]);
  });
});

describe("payments of a wallet", () => {
  it("wait when twenty transactions of the outward chain are unconfirmed", async () => {
    const model = new WalletModel([500]);
    for (let i = 0; i < 22; i++) {
      model.askPayment();
      await model.run();
    }
    expect(await waiting(model)).toHaveLength(20);
    model.pass(20_000);
    model.ledger.mine();
    await model.run();
    expect(taskIds(await waiting(model))).toEqual([["p21", "p22"]]);
  });
});

describe("a record that changes while its transaction is made", () => {
  /** The one transaction of two steps, of which a change at some step of the run made it lose. */
  async function afterChange(asksOther: boolean) {
    const seen = [];
    for (let changes = 1; changes <= 20; changes++) {
      const model = new WalletModel([500, 90, 5]);
      model.askStep({ isMeasured: true });
      model.askStep({ isMeasured: true });
      await model.run({ changes, asksOther });
      const sent = await waiting(model);
      model.pass(20_000);
      model.ledger.mine();
      await model.run();
      const steps = model.database.all<{ id: string; version: number }>("SELECT * FROM step");
      expect(steps.map((step) => model.ledger.paidTo(payeeOfStep(step)))).toEqual([1, 1]);
      expect(taskIds(sent)).toEqual([["s0", "s1"]]);
      seen.push(sent[0]?.hash);
    }
    return new Set(seen).size;
  }

  it("leaves the same bytes in their place when it asks for the same", async () => {
    expect(await afterChange(false)).toBe(1);
  });

  it("has the transaction made anew when it asks for something else", async () => {
    expect(await afterChange(true)).toBe(2);
  });
});

describe("the provider's view of a wallet's outputs", () => {
  it("is asked for once a minute, and when funds are short", async () => {
    const model = new WalletModel([20, 5]);
    const asked = () => model.ledger.outputsAsked;
    for (let i = 0; i < 4; i++) {
      model.askPayment();
      await model.run();
      model.pass(5_000);
    }
    expect(asked()).toBe(1);
    model.pass(MINUTE);
    model.ledger.mine();
    model.askPayment();
    await model.run();
    expect(asked()).toBe(2);
    // More than it has.
    for (let i = 0; i < 4; i++) model.askPayment();
    model.pass(5_000);
    await model.run();
    expect(asked()).toBe(3);
  });
});
