import type { Funds } from "../../../chain/network.ts";
import { readOwnReference } from "../../../chain/redeemer.ts";
import type { StoredFunds } from "../../record.ts";
import { storedFunds } from "../escrow-outputs.ts";
import type { ReadTransaction } from "../source.ts";

/** What outputs hold that name an escrow's output as what they pay out, `hash#index`. */
export function taggedOutputs(
  { tx }: Pick<ReadTransaction, "tx">,
  outpoint: string,
  isPayee: (address: string) => boolean,
): Funds[] {
  return tx.outputs
    .filter(
      ({ address, datum }) =>
        isPayee(address) && datum !== null && readOwnReference(datum) === outpoint,
    )
    .flatMap(({ funds }) => funds);
}

/**
 * The sum of funds by unit, in the order in which units come first. Who has paid more of a unit than
 * received, such as the network's fee, received nothing of it.
 */
export function sumOf(funds: readonly Funds[]): StoredFunds[] {
  const totals = new Map<string, bigint>();
  for (const { unit, amount } of funds) totals.set(unit, (totals.get(unit) ?? 0n) + amount);
  return [...totals]
    .filter(([, amount]) => amount > 0n)
    .map(([unit, amount]) => storedFunds({ unit, amount }));
}
