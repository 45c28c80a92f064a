import { beforeAll, describe, expect, it, vi } from "vitest";
import { isWaiting } from "../../src/wallets/spending/life.ts";
import type { WalletTransaction } from "../../src/wallets/spending/transaction.ts";
import { payeeOfStep } from "./steps.ts";
import { World } from "./world.ts";

beforeAll(() => {
  for (const level of ["info", "warn", "error"] as const)
    vi.spyOn(console, level).mockImplementation(() => {});
});

const MINUTE = 60_000;

/** What waits for a block. */
async function waiting(world: World): Promise<WalletTransaction[]> {
  return (await world.transactions()).filter(({ phase }) => isWaiting(phase));
}

const taskIds = (transactions: readonly WalletTransaction[]) =>
  transactions.map(({ tasks }) => tasks.map(({ id }) => id));

/** Rows of steps, in their order. */
const rows = (world: World) =>
  world.database.all<{ id: string; state: string; failures: number; reason: string | null }>(
    "SELECT id, state, failures, reason FROM step ORDER BY id",
  );

describe("steps of a wallet", () => {
  it("use the only output, which pays the fee and is the collateral", async () => {
    const world = new World([12]);
    const [[only] = []] = world.ledger.unspentAt(world.address);
    world.askStep();
    await world.run();
    const [sent] = await waiting(world);
    expect(sent).toMatchObject({ tasks: [{ id: "s0" }], collateral: { inputs: [only] } });
    expect(sent?.inputs).toEqual(expect.arrayContaining([only, world.outputOf(0)]));
    world.pass(20_000);
    world.ledger.mine();
    await world.run();
    expect(rows(world)).toMatchObject([{ state: "Done", failures: 0 }]);
  });

  it("stand on lanes of their own, which the change of the first of them makes", async () => {
    const world = new World([500]);
    world.askStep({ canBeOvertaken: true });
    await world.run();
    world.askStep();
    world.askPayment();
    await world.run();
    const [first, second, payment] = await waiting(world);
    expect(first?.lineIn).not.toBeNull();
    expect(first?.made).toHaveLength(5);
    expect(second).toMatchObject({ lineIn: null, tasks: [{ id: "s1" }] });
    expect(payment).toMatchObject({ lineIn: first?.lineOut, tasks: [{ work: "payment" }] });
  });

  it("do not hold up payments, nor those them", async () => {
    const world = new World([500, 90, 80, 70, 5]);
    for (let i = 0; i < 3; i++) world.askStep({ isAlone: true });
    world.askPayment();
    await world.run();
    const sent = await waiting(world);
    expect(taskIds(sent)).toEqual([["s0"], ["s1"], ["s2"], ["p1"]]);
    const made = sent.map(({ hash }) => hash);
    for (const { inputs } of sent)
      expect(inputs.filter((input) => made.includes(input.slice(0, 64)))).toEqual([]);
  });

  it("wait when three lanes have twenty unconfirmed each", async () => {
    const world = new World([500, 90, 80, 70, 60, 5]);
    for (let i = 0; i < 70; i++) world.askStep({ isAlone: true });
    await world.run();
    expect(await waiting(world)).toHaveLength(60);
    world.pass(20_000);
    world.ledger.mine();
    await world.run();
    expect(rows(world).filter(({ state }) => state === "Asked")).toEqual([]);
  });

  it("wait when what waits may use sixty million units of memory", async () => {
    const world = new World([500, 90, 80, 70, 5]);
    for (let i = 0; i < 40; i++) world.askStep({ isMeasured: true });
    await world.run();
    const memory = (await waiting(world)).map((one) => one.memory);
    expect(Math.max(...memory)).toBeLessThanOrEqual(14_000_000);
    const sum = memory.reduce((a, b) => a + b, 0);
    expect(sum).toBeLessThanOrEqual(60_000_000);
    expect(sum).toBeGreaterThan(46_000_000);
    world.pass(20_000);
    world.ledger.mine();
    await world.run();
    expect((await waiting(world)).length).toBeGreaterThan(0);
  });

  it("are built anew at once when one of them is overtaken, and so is what hung on it", async () => {
    const world = new World([500, 90, 5]);
    for (let i = 0; i < 4; i++) world.askStep({ canBeOvertaken: true, isAlone: true });
    await world.run();
    world.ledger.overtake(world.outputOf(1));
    world.fold();
    await world.run();
    const open = await world.transactions();
    const ended = open.filter(({ phase }) => phase === "Orphaned");
    expect(taskIds(ended)).toContainEqual(["s1"]);
    expect(
      taskIds(await waiting(world))
        .flat()
        .toSorted(),
    ).toEqual(["s0", "s2", "s3"]);
    world.pass(20_000);
    world.ledger.mine();
    await world.run();
    expect(rows(world).filter(({ state }) => state === "Done")).toHaveLength(3);
  });

  it("come before others when little time is left, on what is confirmed", async () => {
    const world = new World([500, 90, 80, 70, 60, 5]);
    for (let i = 0; i < 3; i++) world.askStep({ isAlone: true });
    await world.run();
    world.askStep();
    world.askStep({ deadline: world.ledger.now + 9 * MINUTE });
    await world.run();
    const [urgent, other] = (await waiting(world)).slice(3);
    const made = (await waiting(world)).map(({ hash }) => hash);
    expect(urgent).toMatchObject({ tasks: [{ id: "s4" }] });
    expect(urgent?.inputs.filter((input) => made.includes(input.slice(0, 64)))).toEqual([]);
    expect(other).toMatchObject({ tasks: [{ id: "s3" }] });
  });

  it("that fail leave their transaction when the node names them, and the others go at once", async () => {
    const world = new World([500, 90, 5]);
    for (let i = 0; i < 4; i++) world.askStep({ isRefused: i === 1 });
    await world.run();
    expect(taskIds(await waiting(world))).toEqual([["s0", "s2", "s3"]]);
    expect(rows(world)[1]).toMatchObject({
      state: "Asked",
      failures: 1,
      reason: expect.stringMatching(/^ScriptFailed: a script of the transaction refuses it/),
    });
  });

  it("that fail are found in halves when the node names nobody", async () => {
    const world = new World([500, 90, 5]);
    world.ledger.namesFailures = false;
    for (let i = 0; i < 4; i++) world.askStep({ isRefused: i === 1 });
    await world.run();
    expect(taskIds(await waiting(world))).toEqual([["s0"], ["s2", "s3"]]);
  });

  it("that fail alone are tried after growing pauses, in no company, and end after ten times", async () => {
    const world = new World([500, 90, 5]);
    world.askStep({ isRefused: true });
    for (let i = 1; rows(world)[0]?.state === "Asked" && i < 100; i++) {
      world.askStep();
      world.pass(MINUTE);
      world.ledger.mine();
      await world.run();
    }
    expect(rows(world)[0]).toMatchObject({ state: "Failed", failures: 10 });
    expect(rows(world).filter(({ state }) => state === "Asked")).toEqual([]);
  });

  it("whose script failed in a block are built again alone, as is every transaction with the same collateral", async () => {
    const world = new World([500, 90, 80, 5]);
    for (let i = 0; i < 3; i++) world.askStep();
    await world.run();
    world.askStep();
    await world.run();
    world.pass(20_000);
    await world.failScript(0);
    await world.run();
    world.pass(5_000);
    await world.run();
    const open = await world.transactions();
    expect(open.map(({ phase }) => phase).slice(0, 2)).toEqual(["Failed", "Orphaned"]);
    expect(taskIds(await waiting(world))).toEqual([["s3"], ["s0"], ["s1"], ["s2"]]);
    world.pass(20_000);
    world.ledger.mine();
    await world.run();
    expect(rows(world).map(({ state }) => state)).toEqual(["Done", "Done", "Done", "Done"]);
  });

  it("whose output is not there any more leave, as a node names it", async () => {
    const world = new World([500, 90, 5]);
    for (let i = 0; i < 3; i++) world.askStep({ isMeasured: true });
    world.ledger.overtake(world.outputOf(1));
    await world.run();
    const [first, second] = await world.transactions();
    expect(first).toMatchObject({ phase: "Refused", tasks: { length: 3 } });
    expect(taskIds(second ? [second] : [])).toEqual([["s0", "s2"]]);
    expect(rows(world)[1]?.reason).toMatch(/^InputMissing/);
  });

  it("are on their way once, whatever their record says", async () => {
    const world = new World([500, 90, 80, 5]);
    world.askStep();
    await world.run();
    world.database.run("UPDATE step SET state = 'Asked'");
    await world.run();
    expect(await waiting(world)).toHaveLength(1);
    expect(rows(world)[0]?.reason).toMatch(/^FormerMayLand/);
  });

  it("end when their deadline is over", async () => {
    const world = new World([500, 90, 5]);
    world.askStep({ deadline: world.ledger.now - 3 * MINUTE });
    await world.run();
    expect(rows(world)).toMatchObject([{ state: "Over" }]);
  });

  it("are sent again lane by lane when a node has dropped them without a word", async () => {
    const world = new World([500, 90, 80, 5]);
    for (let i = 0; i < 4; i++) world.askStep({ isAlone: true });
    world.askPayment();
    await world.run();
    // Not the oldest of all.
    world.ledger.evict(1);
    world.pass(MINUTE);
    await world.run();
    world.pass(20_000);
    world.ledger.mine();
    await world.run();
    expect(rows(world).map(({ state }) => state)).toEqual(["Done", "Done", "Done", "Done"]);
  });

  it("are sent again at once when a node refuses what hangs on them, since it has dropped them", async () => {
    const world = new World([500, 90, 5]);
    world.askStep();
    world.askStep({ isAlone: true });
    await world.run();
    world.ledger.evict(0);
    world.askStep();
    await world.run();
    world.pass(5_000);
    await world.run();
    world.pass(20_000);
    world.ledger.mine();
    await world.run();
    expect(rows(world).map(({ state }) => state)).toEqual(["Done", "Done", "Done"]);
  });

  it("do not wait for a node that does not know what they hang on", async () => {
    const world = new World([500, 90, 5]);
    world.askStep();
    await world.run();
    world.askStep({ isAlone: true, canBeOvertaken: true });
    world.askStep({ isAlone: true });
    await world.run();
    expect(taskIds(await waiting(world))).toEqual([["s0"], ["s2"], ["s1"]]);
  });
});

describe("payments of a wallet", () => {
  it("wait when twenty transactions of the line are unconfirmed", async () => {
    const world = new World([500]);
    for (let i = 0; i < 22; i++) {
      world.askPayment();
      await world.run();
    }
    expect(await waiting(world)).toHaveLength(20);
    world.pass(20_000);
    world.ledger.mine();
    await world.run();
    expect(taskIds(await waiting(world))).toEqual([["p21", "p22"]]);
  });
});

describe("a record that changes while its transaction is made", () => {
  /** The one transaction of two steps, of which a change at some step of the run made it lose. */
  async function afterChange(asksOther: boolean) {
    const seen = [];
    for (let changes = 1; changes <= 20; changes++) {
      const world = new World([500, 90, 5]);
      world.askStep({ isMeasured: true });
      world.askStep({ isMeasured: true });
      await world.run({ changes, asksOther });
      const sent = await waiting(world);
      world.pass(20_000);
      world.ledger.mine();
      await world.run();
      const steps = world.database.all<{ id: string; version: number }>("SELECT * FROM step");
      expect(steps.map((step) => world.ledger.paidTo(payeeOfStep(step)))).toEqual([1, 1]);
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
    const world = new World([20, 5]);
    const asked = () => world.ledger.outputsAsked;
    for (let i = 0; i < 4; i++) {
      world.askPayment();
      await world.run();
      world.pass(5_000);
    }
    expect(asked()).toBe(1);
    world.pass(MINUTE);
    world.ledger.mine();
    world.askPayment();
    await world.run();
    expect(asked()).toBe(2);
    // More than it has.
    for (let i = 0; i < 4; i++) world.askPayment();
    world.pass(5_000);
    await world.run();
    expect(asked()).toBe(3);
  });
});
