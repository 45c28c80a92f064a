import { parseAddress } from "../../chain/address.ts";
import { splitFee } from "../../chain/amounts.ts";
import { decodeEscrowDatum } from "../../chain/contracts/escrow-datum.ts";
import { type Network, PAYMENT_SOURCE_TYPES } from "../../chain/network.ts";
import {
  formatOutputReference,
  type OutputReference,
} from "../../chain/transaction/transaction-plan.ts";
import type { ContractTransaction, SpentFunds } from "./escrow-source.ts";

/**
 * Splits a transaction's fee among outputs, native minor units by output name. The escrows that the
 * transaction spends share the fee, else the escrows that it makes. Escrows of all contracts count, so the
 * shares sum to the fee for every payment source.
 *
 * @param known - names of spent outputs that hold escrows
 */
export async function computeFeeShares(
  network: Network,
  read: Pick<ContractTransaction, "tx" | "spent">,
  known: ReadonlySet<string>,
): Promise<ReadonlyMap<string, bigint>> {
  const { tx, spent } = read;
  const isEscrowInput = async (input: OutputReference) =>
    known.has(formatOutputReference(input)) || isEscrow(network, await spent(input));
  const inputs: string[] = [];
  // Only a script's output has a redeemer.
  for (const { inputIndex } of tx.spendRedeemers) {
    const input = tx.inputs[inputIndex];
    if (input && (await isEscrowInput(input))) inputs.push(formatOutputReference(input));
  }
  const outputs = tx.outputs.flatMap((output, index) =>
    isEscrow(network, output) ? [formatOutputReference({ txHash: tx.hash, index })] : [],
  );
  const bearers = inputs.length > 0 ? inputs : outputs;
  const shares = splitFee(tx.fee, bearers.length);
  return new Map(bearers.map((name, position) => [name, shares[position] ?? 0n]));
}

/** Whether an output of a script holds an escrow of either version. */
function isEscrow(network: Network, output: Omit<SpentFunds, "funds"> | null): boolean {
  if (output === null || output.datum === null) return false;
  const { address: contractAddress, datum } = output;
  if (parseAddress(contractAddress)?.payment.kind !== "script") return false;
  return PAYMENT_SOURCE_TYPES.some(
    (version) => decodeEscrowDatum(datum, { version, network, contractAddress }).ok,
  );
}
