/** The rules of the model's ledger. */
import type { ChainTransaction } from "../../src/chain/transaction/decode.ts";
import { outputName } from "../../src/chain/transaction/plan.ts";
import { add, sumOf, type Value } from "../../src/chain/transaction/value.ts";

export interface Output {
  address: string;
  value: Value;
}

export function isValidAt({ validFrom, validTo }: ChainTransaction, slot: number): boolean {
  return slot >= (validFrom ?? 0) && slot < (validTo ?? Number.POSITIVE_INFINITY);
}

export function isPossible(
  { inputs }: ChainTransaction,
  unspent: ReadonlyMap<string, Output>,
): boolean {
  return inputs.every((input) => unspent.has(outputName(input)));
}

export function applied(
  { hash, inputs, outputs }: ChainTransaction,
  before: ReadonlyMap<string, Output>,
): ReadonlyMap<string, Output> {
  const unspent = new Map(before);
  for (const input of inputs) unspent.delete(outputName(input));
  for (const [index, { address, funds }] of outputs.entries())
    unspent.set(outputName({ txHash: hash, index }), { address, value: sumOf(funds) });
  return unspent;
}

/** The first rule of the ledger: nothing is made, and nothing lost but the fee. */
export function requireConserved(
  { inputs, outputs, fee }: ChainTransaction,
  unspent: ReadonlyMap<string, Output>,
): void {
  const left: Value = new Map([["", -fee]]);
  for (const input of inputs)
    for (const [unit, amount] of unspent.get(outputName(input))?.value ?? [])
      add(left, unit, amount);
  for (const { funds } of outputs) for (const { unit, amount } of funds) add(left, unit, -amount);
  if ([...left.values()].some((amount) => amount !== 0n)) throw new Error("value is not conserved");
}
