/** Pieces that several answers share. */
import type { AssetQuantity, LedgerOutput } from "../ledger/transaction.ts";
import type { PlacedOutput, PlacedTransaction } from "../ledger/view.ts";

export function amounts(quantities: Iterable<AssetQuantity>) {
  return [...quantities].map(({ unit, quantity }) => ({ unit, quantity: String(quantity) }));
}

/** Sums per unit, the native coin first. */
export function totals(outputs: Iterable<LedgerOutput>): AssetQuantity[] {
  const sums = new Map([["lovelace", 0n]]);
  for (const { amount } of outputs) {
    for (const { unit, quantity } of amount) sums.set(unit, (sums.get(unit) ?? 0n) + quantity);
  }
  return [...sums].map(([unit, quantity]) => ({ unit, quantity }));
}

/** The fields of an output that every listing of outputs has. */
export function outputFields(output: LedgerOutput) {
  return {
    address: output.address,
    amount: amounts(output.amount),
    data_hash: output.dataHash,
    inline_datum: output.inlineDatum,
    reference_script_hash: output.referenceScript?.hash ?? null,
  };
}

export function utxoRow({ txHash, index, output, block }: PlacedOutput) {
  return {
    ...outputFields(output),
    tx_hash: txHash,
    tx_index: index,
    output_index: index,
    block: block.hash,
  };
}

export function transactionRow({ tx, block, index }: PlacedTransaction) {
  return {
    tx_hash: tx.hash,
    tx_index: index,
    block_height: block.height,
    block_time: block.time,
  };
}
