import { beforeAll, describe, expect, it, vi } from "vitest";
import { WalletModel } from "./wallet-model.ts";

beforeAll(() => {
  for (const level of ["info", "warn", "error"] as const)
    vi.spyOn(console, level).mockImplementation(() => {});
});

describe("the last calls that a provider allows", () => {
  it("are for a task with a deadline", async () => {
    const model = new WalletModel([200, 100]);
    model.hasCalls = false;
    model.askStep({ deadline: model.ledger.now + 30 * 60_000, isMeasured: true });
    await model.run();
    expect(await model.transactions()).toMatchObject([{ phase: "Sent" }]);
  });

  it("are not for tasks without one, which wait and say for what", async () => {
    const model = new WalletModel([200, 100]);
    model.hasCalls = false;
    model.askStep({ isMeasured: true });
    model.askPayment();
    await model.run();
    expect(await model.transactions()).toEqual([]);
    expect(await model.wallet()).toMatchObject({
      blocker: "waits for the chain provider: no calls left for now",
    });
  });
});
