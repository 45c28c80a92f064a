/** Sums of escrows in each unit, as the figures of the overview show them. */

/** Sums in one unit, minor units. */
export interface UnitTotal {
  unit: string;
  /** Prices of the escrows. */
  gross: string;
  /** What the seller keeps, or what the buyer pays, with the fees that each of them bears. */
  net: string;
}

/** An amount of each unit that escrows have a price in. Network fees alone make no figure. */
export function listAmounts(units: readonly UnitTotal[], member: "gross" | "net") {
  return units
    .filter(({ gross }) => gross !== "0")
    .map((one) => ({ unit: one.unit, amount: one[member] }));
}
