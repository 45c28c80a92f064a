/** Puts sums into the days and months of a time zone: pure. */
import type { LocalDate } from "../../../local-date.ts";
import type { Side } from "../../model/escrow-record.ts";
import type { AccountKind, EscrowSum } from "./sums.ts";

/** What escrows came to in one unit, minor units. */
export interface UnitTotal {
  unit: string;
  gross: bigint;
  protocolFee: bigint;
  networkFee: bigint;
  net: bigint;
}

export interface AccountTotal {
  /** By unit, the native coin first. */
  unitTotals: UnitTotal[];
  /** Native minor units. */
  networkFee: bigint;
}

export type AccountBucket = LocalDate & AccountTotal;

export interface BookAccount {
  total: AccountTotal;
  /** Those that have something, in their order. */
  dailyBuckets: AccountBucket[];
  monthlyBuckets: AccountBucket[];
}

/** What an account's amounts are to the side that it is of: what remains is a gain or a cost. */
const NET_FORMULAS: Record<
  Side,
  Record<AccountKind, (sum: Omit<UnitTotal, "net" | "unit">) => bigint>
> = {
  payment: {
    gained: ({ gross, protocolFee, networkFee }) => gross - protocolFee - networkFee,
    // What goes back was never the seller's.
    refunded: ({ networkFee }) => -networkFee,
    pending: ({ gross, networkFee }) => gross - networkFee,
  },
  purchase: {
    // What it cost the buyer: the seller bears the contract's fee.
    gained: ({ gross, networkFee }) => gross + networkFee,
    refunded: ({ gross, networkFee }) => gross - networkFee,
    pending: ({ gross, networkFee }) => gross + networkFee,
  },
};

/**
 * The account of one kind: all of it, by day and by month.
 *
 * @param dateOf - the local date of a time, Unix seconds
 */
export function buildAccount(
  side: Side,
  kind: AccountKind,
  sums: readonly EscrowSum[],
  dateOf: (seconds: number) => Required<LocalDate>,
): BookAccount {
  const ofKind = sums
    .filter((sum) => sum.kind === kind)
    .toSorted((a, b) => a.quarter - b.quarter)
    .map((sum) => ({ sum, date: dateOf(sum.quarter) }));
  const totalOf = (some: readonly { sum: EscrowSum }[]) =>
    computeAccountTotal(
      side,
      kind,
      some.map(({ sum }) => sum),
    );
  const toBuckets = (nameOf: (date: Required<LocalDate>) => LocalDate): AccountBucket[] =>
    [...Map.groupBy(ofKind, ({ date }) => JSON.stringify(nameOf(date)))].map(([name, some]) => ({
      ...(JSON.parse(name) as LocalDate),
      ...totalOf(some),
    }));
  return {
    total: totalOf(ofKind),
    dailyBuckets: toBuckets(({ day, month, year }) => ({ day, month, year })),
    monthlyBuckets: toBuckets(({ month, year }) => ({ month, year })),
  };
}

function computeAccountTotal(
  side: Side,
  kind: AccountKind,
  sums: readonly EscrowSum[],
): AccountTotal {
  const units = [...Map.groupBy(sums, ({ unit }) => unit)].map(([unit, some]): UnitTotal => {
    const sum = (name: "gross" | "protocolFee" | "networkFee") =>
      some.reduce((all, one) => all + one[name], 0n);
    const amounts = {
      gross: sum("gross"),
      // Buyers do not pay it.
      protocolFee: side === "payment" ? sum("protocolFee") : 0n,
      networkFee: sum("networkFee"),
    };
    return { unit, ...amounts, net: NET_FORMULAS[side][kind](amounts) };
  });
  return {
    unitTotals: units
      .filter(({ gross, protocolFee, networkFee }) => gross + protocolFee + networkFee > 0n)
      .toSorted((a, b) => (a.unit < b.unit ? -1 : 1)),
    networkFee: units.reduce((all, { networkFee }) => all + networkFee, 0n),
  };
}
