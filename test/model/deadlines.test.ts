import { beforeAll, describe, expect, it, vi } from "vitest";
import { World } from "./world.ts";

beforeAll(() => {
  for (const level of ["info", "warn", "error"] as const)
    vi.spyOn(console, level).mockImplementation(() => {});
});

describe("the last calls that a provider allows", () => {
  it("are for a task with a deadline", async () => {
    const world = new World([200, 100]);
    world.hasCalls = false;
    world.askStep({ deadline: world.ledger.now + 30 * 60_000, isMeasured: true });
    await world.run();
    expect(await world.transactions()).toMatchObject([{ phase: "Sent" }]);
  });

  it("are not for tasks without one, which wait and say for what", async () => {
    const world = new World([200, 100]);
    world.hasCalls = false;
    world.askStep({ isMeasured: true });
    world.askPayment();
    await world.run();
    expect(await world.transactions()).toEqual([]);
    expect(await world.wallet()).toMatchObject({
      held: "waits for the chain provider: no calls left for now",
    });
  });
});
