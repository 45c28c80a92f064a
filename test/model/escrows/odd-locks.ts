/** In what a lock that somebody makes by hand is another than the quote's. */
import { MIN_COLLATERAL } from "../../../src/chain/amounts.ts";
import type { EscrowDatum } from "../../../src/chain/contracts/escrow-datum.ts";
import { addAmount, type Value } from "../../../src/chain/transaction/value.ts";
import { UNNAMED } from "./quotes.ts";
import { elsewhere } from "./terms.ts";

/** What is locked. */
export interface Lock {
  datum: EscrowDatum;
  value: Value;
}
export type Change = (lock: Lock) => Lock;

/** One that holds more, or less, of a unit. */
export const withMore =
  (unit: string, amount: bigint): Change =>
  ({ datum, value }) => {
    const more = new Map(value);
    addAmount(more, unit, amount);
    return { datum, value: more };
  };

const withDatum =
  (change: (lock: Lock) => Partial<EscrowDatum>): Change =>
  (lock) => ({ ...lock, datum: { ...lock.datum, ...change(lock) } });

/** What goes back to the buyer is on top of all else. */
const withCollateral =
  (amount: bigint): Change =>
  ({ datum, value }) => ({
    ...withMore("", amount)({ datum, value }),
    datum: { ...datum, collateralReturn: datum.collateralReturn + amount },
  });

const coinOf = ({ value }: Lock) => value.get("") ?? 0n;

/** The datum of Web3ChainV1 has no return addresses, and drops them. */
const CHANGES: readonly Change[] = [
  withCollateral(MIN_COLLATERAL),
  withCollateral(120_000_000n),
  withDatum(() => ({ collateralReturn: MIN_COLLATERAL - 1n })),
  withDatum((lock) => ({ collateralReturn: coinOf(lock) })),
  withDatum((lock) => ({ collateralReturn: coinOf(lock) + 3_000_000n })),
  withMore(UNNAMED, 2n),
  withMore("", 7_000_001n),
  withDatum(() => ({ buyerReturnAddress: elsewhere("b4") })),
  withDatum(() => ({ buyerReturnAddress: null })),
  withDatum(({ datum }) => ({ buyerReturnAddress: datum.sellerReturnAddress ?? datum.seller })),
  withDatum(() => ({ sellerReturnAddress: elsewhere("54") })),
  withDatum(() => ({ resultHash: "0d".repeat(32) })),
];

/** One or two of them. */
export function oddly(n: number): Change {
  const [one, other] = [n % CHANGES.length, Math.floor(n / CHANGES.length)].map((i) => CHANGES[i]);
  return (lock) => {
    const changed = one ? one(lock) : lock;
    return other ? other(changed) : changed;
  };
}
