import { parseAddress } from "../../../chain/address.ts";
import { type Party, payeeOf, sharesPayee } from "../../actions/payees.ts";
import { readSplit } from "../../actions/split.ts";
import { type EscrowRecord, lockOf, type StoredFunds } from "../../record.ts";
import { fundsOf } from "../escrow-outputs.ts";
import { spentOutputs } from "../skipped-steps.ts";
import type { ReadTransaction, SpentFunds } from "../source.ts";
import { sumOf, taggedOutputs } from "./outputs.ts";

/**
 * What the settlement of a dispute paid to a party, per unit.
 *
 * Web3ChainV2 pays each party's part to its return address, or to its own where it set none, in
 * outputs that name the escrow's output: so several disputes of one transaction are distinguished,
 * and what the submitter keeps or pays is not counted. Where both parties share that address, outputs do
 * not tell whose they are: each has what the administrators signed for it. Web3ChainV1 settles one dispute per
 * transaction and leaves the amounts to the administrators: where outputs name the escrow's, as ours
 * do, those count, so that a party's wallet may pay the network; else all that the party's key
 * received, and what went to the return address that was agreed.
 *
 * @param outpoint - the output that held the funds, `hash#index`
 */
export async function disputePayout(
  record: EscrowRecord,
  party: Party,
  read: ReadTransaction,
  outpoint: string,
): Promise<StoredFunds[]> {
  if (record.sourceType === "Web3ChainV1") {
    const parties = { ...record.terms, ...lockOf(record) };
    return receivedBy(parties[`${party}Vkey`], returnAddressOf(record, party), read, outpoint);
  }
  if (sharesPayee(record)) return signedFor(party, read, outpoint);
  const payee = payeeOf(record, party);
  return sumOf(taggedOutputs(read, outpoint, (address) => address === payee));
}

/** What the redeemer gives a party, which the contract has compared with what administrators signed. */
function signedFor(party: Party, read: ReadTransaction, outpoint: string): StoredFunds[] {
  const spent = spentOutputs(read).find((one) => one.outpoint === outpoint);
  const split = spent && readSplit(spent.data);
  return sumOf((split?.[party] ?? []).map(fundsOf));
}

/** A contract of Web3ChainV1 knows none, but the parties agreed on one. */
function returnAddressOf({ terms }: EscrowRecord, party: Party): string | null {
  return party === "seller" ? terms.sellerReturnAddress : terms.buyerReturnAddress;
}

/** What a key and an address received from a transaction: what is theirs by name, else outputs less inputs. */
async function receivedBy(
  vkey: string | null,
  returnAddress: string | null,
  read: ReadTransaction,
  outpoint: string,
): Promise<StoredFunds[]> {
  const isTheirs = (address: string) =>
    address === returnAddress || parseAddress(address)?.payment?.hash === vkey;
  const isTagged = taggedOutputs(read, outpoint, () => true).length > 0;
  if (isTagged) return sumOf(taggedOutputs(read, outpoint, isTheirs));
  const spent: SpentFunds[] = [];
  for (const input of read.tx.inputs) spent.push(...listOf(await read.spent(input)));
  const theirs = (outputs: readonly SpentFunds[], sign: bigint) =>
    outputs
      .filter(({ address }) => isTheirs(address))
      .flatMap(({ funds }) => funds)
      .map(({ unit, amount }) => ({ unit, amount: sign * amount }));
  return sumOf([...theirs(read.tx.outputs, 1n), ...theirs(spent, -1n)]);
}

const listOf = <T>(one: T | null): T[] => (one === null ? [] : [one]);
