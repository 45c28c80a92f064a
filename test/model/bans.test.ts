import { beforeAll, describe, expect, it, vi } from "vitest";
import { payeeOf } from "./payments.ts";
import { World } from "./world.ts";

beforeAll(() => {
  for (const level of ["info", "warn", "error"] as const)
    vi.spyOn(console, level).mockImplementation(() => {});
});

describe("a provider that bans the wallet from reading", () => {
  it("does not block submission of stored transactions to another place", async () => {
    const world = new World([100]);
    const id = world.askPayment();
    world.ledger.submitFaults = ["lostBefore"];
    await world.run();
    expect(await phases(world)).toEqual(["Stored"]);
    world.ledger.isBanned = true;
    world.pass(5_000);
    await world.run();
    expect(await phases(world)).toEqual(["Sent"]);
    world.ledger.mine();
    expect(world.ledger.paidTo(payeeOf(id))).toBe(1);
  });

  it("has nothing built meanwhile, and all of it afterwards", async () => {
    const world = new World([100]);
    const id = world.askPayment();
    world.ledger.isBanned = true;
    await world.run();
    expect(await phases(world)).toEqual([]);
    world.ledger.isBanned = false;
    world.pass(60_000);
    await world.run();
    world.ledger.mine();
    expect(world.ledger.paidTo(payeeOf(id))).toBe(1);
  });
});

async function phases(world: World): Promise<string[]> {
  return (await world.transactions()).map(({ phase }) => phase);
}
