import { describe, expect, it } from "vitest";
import { computeNextEpochStart, slotAt, timeOfSlot } from "../../../../src/chain/slots.ts";
import { DeadlinePassedError, RetryLaterError } from "../../../../src/wallets/queue/errors.ts";
import { computeValidityWindow } from "../../../../src/wallets/spending/building/validity-window.ts";

const MINUTE = 60_000;
const NOW = Date.UTC(2026, 0, 1, 12);
const at = (now: number, tip = now) => ({
  tipTime: tip,
  earliestTime: tip,
  latestTime: now,
});
const slot = (time: number) => slotAt("Preprod", time);

describe("the validity of a transaction", () => {
  it("is a few minutes around now by both clocks", () => {
    const { validity } = computeValidityWindow("Preprod", [{}], at(NOW, NOW - MINUTE));
    expect(validity).toEqual({ from: slot(NOW) - 360, to: slot(NOW) + 330 });
  });

  it("begins with the latest beginning and ends in the last slot before the earliest deadline", () => {
    const tasks = [
      { notBefore: NOW - 30_500, deadline: NOW + 4 * MINUTE },
      { notBefore: NOW - 10_000, deadline: NOW + 2 * MINUTE + 500 },
    ];
    const { validity, count } = computeValidityWindow("Preprod", tasks, at(NOW));
    expect(count).toBe(2);
    expect(validity).toEqual({ from: slot(NOW) - 10, to: slot(NOW) + 120 });
    // The contract sees the beginning of the first slot in which it is not valid any more.
    expect(timeOfSlot("Preprod", validity.to)).toBeLessThan(NOW + 2 * MINUTE + 500);
    const [first] = tasks;
    const alone = computeValidityWindow("Preprod", first ? [first] : [], at(NOW)).validity;
    expect(alone).toEqual({ from: slot(NOW) - 30, to: slot(NOW) + 239 });
  });

  it("leaves out what has too little time in common with the first", () => {
    const tasks = [{}, { deadline: NOW + 3 * MINUTE }, { deadline: NOW + 30_000 }, {}];
    expect(computeValidityWindow("Preprod", tasks, at(NOW)).count).toBe(2);
    const urgent = [{ deadline: NOW + 30_000 }, {}];
    expect(computeValidityWindow("Preprod", urgent, at(NOW)).count).toBe(1);
  });

  it("is none when the first deadline is over", () => {
    expect(() => computeValidityWindow("Preprod", [{ deadline: NOW }], at(NOW))).toThrow(
      DeadlinePassedError,
    );
  });

  it("never crosses the end of an epoch, and waits for it when it is near", () => {
    const end = computeNextEpochStart("Preprod", slot(NOW));
    const ending = timeOfSlot("Preprod", end);
    const inTime = computeValidityWindow("Preprod", [{}], at(ending - 2 * MINUTE));
    expect(inTime.validity.to).toBe(end);
    expect(() => computeValidityWindow("Preprod", [{}], at(ending - 30_000))).toThrow(
      RetryLaterError,
    );
    expect(computeValidityWindow("Preprod", [{}], at(ending)).validity.to).toBe(end + 330);
    const before = [{ deadline: ending - 10_000 }];
    expect(computeValidityWindow("Preprod", before, at(ending - 30_000)).validity.to).toBe(
      end - 11,
    );
  });

  it("knows when epochs end: every five days since slots became seconds", () => {
    expect(computeNextEpochStart("Preprod", 86_400)).toBe(86_400 + 432_000);
    expect(computeNextEpochStart("Preprod", 86_400 + 431_999)).toBe(86_400 + 432_000);
    expect(computeNextEpochStart("Mainnet", 4_492_800 + 432_000)).toBe(4_492_800 + 864_000);
  });
});
