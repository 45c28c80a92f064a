/** What comes to the parties' wallets beside the native coin. */
import type { Value } from "../../../src/chain/transaction/value.ts";
import type { ModelLedger } from "../ledger.ts";
import { GOLD, LONG, UNNAMED } from "./quotes.ts";
import { PARTIES } from "./terms.ts";

const output = (coin: bigint, ...tokens: readonly (readonly [string, bigint])[]): Value =>
  new Map([["", coin], ...tokens]);

/** A token that nobody asked for. */
const junk = (i: number) => `${"c2".repeat(28)}${i.toString(16).padStart(2, "0")}`;
const DUST = 1_300_000n;

/** Outputs of one transaction: in the one or other all that a quote asks for, dust, and what nobody wants. */
const KINDS: readonly (readonly Value[])[] = [
  [output(2_000_000n, [GOLD, 100n])],
  [output(3_000_000n, [GOLD, 60n], [UNNAMED, 3n], [LONG, 2_000_000_000n])],
  [output(DUST, [UNNAMED, 1n])],
  [output(DUST, [GOLD, 30n]), output(DUST, [GOLD, 17n]), output(DUST, [GOLD, 1n])],
  [output(40_000_000n, [LONG, 1_000_000_007n])],
  [
    output(6_000_000n, ...Array.from({ length: 30 }, (_, i) => [junk(i), BigInt(i + 1)] as const), [
      GOLD,
      50n,
    ]),
  ],
  [output(1_000_000n), output(5_000_000n)],
];
/** As much as all quotes take. */
const PLENTY = KINDS[1] ?? [];

/** Somebody sends a party tokens: mostly the buyer, in one of several forms. */
export function receive(ledger: ModelLedger, n: number): void {
  const { address } = n % 4 === 3 ? PARTIES.seller : PARTIES.buyer;
  ledger.fund(address, ...(KINDS[(n >> 2) % KINDS.length] ?? []));
}

/** The buyer gets all that quotes ask for. */
export function receivePlenty(ledger: ModelLedger): void {
  ledger.fund(PARTIES.buyer.address, ...PLENTY);
}
