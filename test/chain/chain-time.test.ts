import { describe, expect, it } from "vitest";
import { computeChainTime } from "../../src/chain/chain-time.ts";

const TIP = 1_700_000_000;

describe("the time on the chain", () => {
  it.each([
    ["behind the wall clock", 60_000, TIP * 1000, TIP * 1000 + 60_000],
    ["ahead of it", -60_000, TIP * 1000 - 60_000, TIP * 1000],
  ])("of a tip %s lies between both", (_, ahead, earliest, latest) => {
    expect(computeChainTime("wall", TIP, TIP * 1000 + ahead)).toEqual({
      tipTime: TIP * 1000,
      earliestTime: earliest,
      latestTime: latest,
    });
  });

  it("is the tip's alone where the tip is the clock", () => {
    const only = { tipTime: TIP * 1000, earliestTime: TIP * 1000, latestTime: TIP * 1000 };
    for (const now of [0, TIP * 1000, TIP * 2000])
      expect(computeChainTime("tip", TIP, now)).toEqual(only);
  });
});
