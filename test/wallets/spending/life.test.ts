import { describe, expect, it } from "vitest";
import {
  isOpen,
  isPending,
  PHASE_TRANSITIONS,
  progressOf,
  TRANSACTION_PHASES,
} from "../../../src/wallets/model/phases.ts";

describe("the life of a wallet's transaction", () => {
  it("ends in two phases, and can reach one of them from any other", () => {
    expect(TRANSACTION_PHASES.filter((phase) => !isOpen(phase))).toEqual(["Final", "Dead"]);
    for (const phase of TRANSACTION_PHASES) {
      const reached = new Set([phase]);
      for (const one of reached)
        for (const next of Object.values(PHASE_TRANSITIONS[one])) reached.add(next);
      expect(
        [...reached].some((one) => !isOpen(one)),
        phase,
      ).toBe(true);
    }
  });

  it("lets a block show at any time what is not final, whatever it was believed to be", () => {
    for (const phase of TRANSACTION_PHASES.filter(
      (one) => isOpen(one) && progressOf(one) !== "Landed",
    ))
      if (phase !== "InBlock") expect(PHASE_TRANSITIONS[phase].Seen, phase).toBe("InBlock");
  });

  it("ends what waits for a block only by its validity, its bytes or what it spends", () => {
    for (const phase of TRANSACTION_PHASES.filter(isPending))
      expect(
        Object.entries(PHASE_TRANSITIONS[phase]).filter(([, next]) => progressOf(next) === "Ended"),
        phase,
      ).toEqual([
        ["Refused", "Refused"],
        ["ScriptFailed", "Failed"],
        ["Over", "Expired"],
        ["Displaced", "Orphaned"],
      ]);
  });
});
