import { parseAddress } from "../../chain/address.ts";
import { readOwnReference } from "../../chain/redeemer.ts";
import { type EscrowRecord, lockOf, type StoredFunds } from "../record.ts";
import type { ReadTransaction } from "./source.ts";

type Party = "buyer" | "seller";

/**
 * What the settlement of a dispute paid to a party, per unit.
 *
 * Web3ChainV2 pays each party's part to its return address, or to its own where it set none, in
 * outputs that name the escrow's output: so several disputes of one transaction are distinguished,
 * and what the submitter keeps or pays is not counted. Web3ChainV1 settles one dispute per
 * transaction and leaves the amounts to the administrators: there all that the party's key received
 * counts.
 *
 * @param outpoint - the output that held the funds, `hash#index`
 */
export async function disputePayout(
  record: EscrowRecord,
  party: Party,
  read: ReadTransaction,
  outpoint: string,
): Promise<StoredFunds[]> {
  const parties = { ...record.terms, ...lockOf(record) };
  if (record.sourceType === "Web3ChainV1") return receivedBy(parties[`${party}Vkey`], read);
  const payee = parties[`${party}ReturnAddress`] ?? parties[party];
  const payouts = read.tx.outputs.filter(
    ({ address, datum }) =>
      address === payee && datum !== null && readOwnReference(datum) === outpoint,
  );
  return sumOf(payouts.flatMap(({ funds }) => funds));
}

/** What a key received from a transaction: its outputs less its inputs. */
async function receivedBy(vkey: string | null, read: ReadTransaction): Promise<StoredFunds[]> {
  const { inputs, outputs } = await read.utxos();
  const fundsOf = (utxos: typeof inputs, sign: bigint) =>
    utxos
      .filter(({ address }) => parseAddress(address)?.payment?.hash === vkey)
      .flatMap(({ amount }) => amount)
      .map(({ unit, quantity }) => ({
        unit: unit === "lovelace" ? "" : unit,
        amount: sign * BigInt(quantity),
      }));
  return sumOf([...fundsOf(outputs, 1n), ...fundsOf(inputs, -1n)]);
}

function sumOf(funds: { unit: string; amount: bigint }[]): StoredFunds[] {
  const totals = new Map<string, bigint>();
  for (const { unit, amount } of funds) totals.set(unit, (totals.get(unit) ?? 0n) + amount);
  return [...totals]
    .filter(([, amount]) => amount !== 0n)
    .map(([unit, amount]) => ({ unit, amount: String(amount) }));
}
