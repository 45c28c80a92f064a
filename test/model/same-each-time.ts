import { afterAll, beforeAll, vi } from "vitest";

/**
 * Makes the model tests of a file deterministic. They set the clock, ids are counted, and logs are
 * dropped.
 *
 * @returns a function that resets the ids
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
