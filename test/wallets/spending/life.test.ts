import { describe, expect, it } from "vitest";
import { isOpen, isWaiting, LIFE, meaningOf, PHASES } from "../../../src/wallets/spending/life.ts";

describe("the life of a wallet's transaction", () => {
  it("ends in two phases, and can reach one of them from any other", () => {
    expect(PHASES.filter((phase) => !isOpen(phase))).toEqual(["Final", "Dead"]);
    for (const phase of PHASES) {
      const reached = new Set([phase]);
      for (const one of reached) for (const next of Object.values(LIFE[one])) reached.add(next);
      expect(
        [...reached].some((one) => !isOpen(one)),
        phase,
      ).toBe(true);
    }
  });

  it("lets a block show at any time what is not final, whatever it was believed to be", () => {
    for (const phase of PHASES.filter((one) => isOpen(one) && meaningOf(one) !== "Landed"))
      if (phase !== "InBlock") expect(LIFE[phase].Seen, phase).toBe("InBlock");
  });

  it("ends what waits for a block only by its validity, its bytes or what it spends", () => {
    for (const phase of PHASES.filter(isWaiting))
      expect(
        Object.entries(LIFE[phase]).filter(([, next]) => meaningOf(next) === "Ended"),
        phase,
      ).toEqual([
        ["Refused", "Refused"],
        ["ScriptFailed", "Failed"],
        ["Over", "Expired"],
        ["Displaced", "Orphaned"],
      ]);
  });
});
