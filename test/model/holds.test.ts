import { beforeAll, describe, expect, it, vi } from "vitest";
import { payeeOf } from "./payments.ts";
import { World } from "./world.ts";

beforeAll(() => {
  for (const level of ["info", "warn", "error"] as const)
    vi.spyOn(console, level).mockImplementation(() => {});
});

const since = (world: World) =>
  world.database.all<{ held_since: number | null }>("SELECT held_since FROM hot_wallet")[0]
    ?.held_since;

describe("what holds up a wallet", () => {
  it("is its funds, from the first try that lacked them until it can pay", async () => {
    const world = new World([1]);
    world.askPayment();
    await world.run();
    const { held } = await world.wallet();
    expect(held).toMatch(/^the wallet lacks \d+ minor units of the native coin/);
    const begun = world.ledger.now;
    expect(since(world)).toBe(begun);
    world.pass(60_000);
    world.askPayment();
    await world.run();
    expect(since(world)).toBe(begun);
    world.ledger.fund(world.address, new Map([["", 100_000_000n]]));
    world.pass(60_000);
    await world.run();
    expect(await world.wallet()).toMatchObject({ held: null });
    expect(since(world)).toBeNull();
  });

  it("is not its funds while all of its funds are in pending transactions", async () => {
    const world = new World([20]);
    // As late as can be: all that it is shown was spent by the first of them.
    world.ledger.outputsBehind = 3;
    for (let i = 0; i < 4; i++) {
      world.askPayment();
      await world.run();
      expect(await world.wallet()).toMatchObject({ held: null });
      world.pass(60_000);
    }
    world.ledger.mine();
    expect(world.asked.map((id) => world.ledger.paidTo(payeeOf(id)))).toEqual([1, 1, 1, 1]);
  });

  it("is its provider, and stays so while nothing is tried", async () => {
    const world = new World([100]);
    world.askPayment();
    world.ledger.isBanned = true;
    await world.run();
    const held = "waits for the chain provider: banned";
    expect(await world.wallet()).toMatchObject({ held });
    world.ledger.isBanned = false;
    await world.run();
    expect(await world.wallet()).toMatchObject({ held });
    world.pass(60_000);
    await world.run();
    expect(await world.wallet()).toMatchObject({ held: null });
  });

  it("is a database that was set back", async () => {
    const world = new World([100]);
    world.database.save();
    world.askPayment();
    await world.run();
    world.database.restore();
    world.askPayment();
    await world.run();
    expect(await world.wallet()).toMatchObject({
      held: "the database was set back: nothing is sent until the chain has been followed again",
    });
  });

  it("is nothing of its own when one task alone cannot be done", async () => {
    const world = new World([100, 90]);
    world.askStep({ isRefused: true });
    await world.run();
    expect(await world.wallet()).toMatchObject({ held: null });
  });

  it("is nothing of its own when somebody else has just spent what one task alone spends", async () => {
    const world = new World([100, 90]);
    world.askStep();
    world.ledger.overtake(world.outputOf(0));
    await world.run();
    expect(world.database.all("SELECT state, hash FROM step")).toEqual([
      { state: "Asked", hash: null },
    ]);
    expect(await world.wallet()).toMatchObject({ held: null });
  });
});
