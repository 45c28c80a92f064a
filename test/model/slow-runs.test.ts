import { beforeAll, describe, expect, it, vi } from "vitest";
import { WalletModel } from "./wallet-model.ts";

beforeAll(() => {
  for (const level of ["info", "warn", "error"] as const)
    vi.spyOn(console, level).mockImplementation(() => {});
});

describe("a wallet whose calls are slow", () => {
  it("pays in its first run, although urgent steps take longer than a run", async () => {
    const model = new WalletModel([200, 100, 90, 80]);
    for (let i = 0; i < 20; i++) model.askStep({ isAlone: true, isMeasured: true });
    model.askPayment();
    model.stepMs = 3_000;
    await model.run();
    expect(model.database.all("SELECT state FROM payment")).toEqual([{ state: "UnderWay" }]);
    const waiting = model.database.all("SELECT id FROM step WHERE state = 'Asked'");
    expect(waiting.length).toBeGreaterThan(0);
  });
});
