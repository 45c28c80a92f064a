import { beforeAll, describe, expect, it, vi } from "vitest";
import { payeeOf } from "./payments.ts";
import { World } from "./world.ts";

const MINUTE_MS = 60_000;

beforeAll(() => {
  for (const level of ["info", "warn", "error"] as const)
    vi.spyOn(console, level).mockImplementation(() => {});
});

/** Lets blocks and runs follow each other for some minutes. */
async function minutes(world: World, count: number): Promise<void> {
  for (let i = 0; i < count * 3; i++) {
    world.pass(MINUTE_MS / 3);
    world.ledger.mine();
    await world.run();
  }
}

/** Somebody with the same key spends an output, and the wallet has something to do after that. */
async function spentAndAsked(world: World): Promise<string> {
  world.ledger.spendElsewhere(world.address, 0);
  const id = world.askPayment();
  await minutes(world, 2);
  return id;
}

const states = (world: World) =>
  world.database.all<{ id: string; state: string }>("SELECT id, state FROM payment ORDER BY id");

describe("a wallet whose key is used elsewhere", () => {
  it("tells which outputs somebody else has spent, and goes on", async () => {
    const world = new World([400, 300, 200, 100, 50]);
    world.askPayment();
    await minutes(world, 1);
    expect((await world.wallet()).spentElsewhere).toEqual([]);
    await spentAndAsked(world);
    const [output] = world.ledger.spentElsewhere;
    expect((await world.wallet()).spentElsewhere).toMatchObject([{ output }]);
    await minutes(world, 10);
    expect(states(world).map(({ state }) => state)).toEqual(["Done", "Done"]);
  });

  it("pauses what nobody asked for after the third within an hour, until the first is an hour past", async () => {
    const world = new World([400, 300, 200, 100, 50, 40, 30]);
    world.askPayment();
    await minutes(world, 1);
    for (let i = 0; i < 3; i++) await spentAndAsked(world);
    expect((await world.wallet()).spentElsewhere).toHaveLength(3);
    const unasked = world.askPayment(true);
    const asked = world.askPayment();
    await minutes(world, 12);
    const stateOf = (id: string) => states(world).find((one) => one.id === id)?.state;
    expect([stateOf(asked), stateOf(unasked)]).toEqual(["Done", "Asked"]);
    await minutes(world, 60);
    expect(stateOf(unasked)).toBe("Done");
  });

  it("treats no output as spent that a provider shows late, and pays everything once", async () => {
    const world = new World([400, 300]);
    for (let i = 0; i < 10; i++) {
      world.ledger.outputsBehind = i % 4;
      world.askPayment();
      await minutes(world, 1);
    }
    expect((await world.wallet()).spentElsewhere).toEqual([]);
    await minutes(world, 1);
    expect(states(world).map(({ state }) => state)).toEqual(Array(10).fill("Done"));
    expect(world.asked.map((id) => world.ledger.paidTo(payeeOf(id)))).toEqual(Array(10).fill(1));
  });
});
