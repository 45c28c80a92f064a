import fc from "fast-check";
import { expect, it } from "vitest";
import { renderTime } from "../../../src/escrow/store/render-time.ts";

/** The last that `Date` has, epoch milliseconds. */
const MAX_DATE_MS = 8.64e15;

it("a time is printed as Date prints it, before 1970 and after 9999 too", () => {
  const anyTime = fc.integer({ min: -MAX_DATE_MS, max: MAX_DATE_MS });
  const ofOurDays = fc.integer({ min: 0, max: Date.UTC(2100, 0) });
  fc.assert(
    fc.property(fc.oneof(anyTime, ofOurDays), (milliseconds) => {
      expect(renderTime(milliseconds)).toBe(JSON.stringify(new Date(milliseconds)));
    }),
    { numRuns: 5_000 },
  );
});

it("a time that no calendar has is refused", () => {
  expect(() => renderTime(MAX_DATE_MS + 86_400_000)).toThrow(RangeError);
  expect(() => renderTime(Number.NaN)).toThrow(RangeError);
});
