/** Which sums of the books the overview shows. */
import { expect, test } from "vitest";
import { listAmounts } from "../../console/pages/overview/unit-totals.ts";

test("income is what sellers keep of the prices, in units that escrows have a price in", () => {
  const totals = [
    { unit: "", gross: "0", net: "-180000" },
    { unit: "ab".repeat(28), gross: "2000000", net: "1900000" },
  ];
  expect(listAmounts(totals, "net")).toEqual([{ unit: "ab".repeat(28), amount: "1900000" }]);
  expect(listAmounts(totals, "gross")).toEqual([{ unit: "ab".repeat(28), amount: "2000000" }]);
});
