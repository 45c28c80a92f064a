import { afterAll, beforeAll, vi } from "vitest";

/**
 * Has the model tests of a file run the same each time: they set the clock, ids are counted, and what is
 * logged goes nowhere.
 *
 * @returns has ids begin anew, so that a story with the same deeds has the same ids
 */
export function sameEachTime(): () => void {
  let drawn = 0n;
  beforeAll(() => {
    vi.useFakeTimers({ toFake: ["Date"] });
    vi.spyOn(crypto, "getRandomValues").mockImplementation((array) => {
      if (array instanceof BigUint64Array) array.fill(++drawn);
      return array;
    });
    for (const level of ["info", "warn", "error"] as const)
      vi.spyOn(console, level).mockImplementation(() => {});
  });
  afterAll(() => {
    vi.useRealTimers();
    vi.restoreAllMocks();
  });
  return () => {
    drawn = 0n;
  };
}
