/** The rules of the model's ledger. */
import { parseAddress } from "../../src/chain/address.ts";
import { readCbor } from "../../src/chain/cbor.ts";
import type { ChainTransaction } from "../../src/chain/transaction/decode-transaction.ts";
import { formatOutputReference } from "../../src/chain/transaction/transaction-plan.ts";
import { addAmount, addValue, sumToValue, type Value } from "../../src/chain/transaction/value.ts";

/** CBOR. */
const FALSE = 0xf4;

export interface Output {
  address: string;
  value: Value;
  /** Inline, CBOR in hex; left out, or null: none. */
  datum?: string | null;
}

export function isValidAt({ validFrom, validTo }: ChainTransaction, slot: number): boolean {
  return slot >= (validFrom ?? 0) && slot < (validTo ?? Number.POSITIVE_INFINITY);
}

export function isPossible(
  { inputs }: ChainTransaction,
  unspent: ReadonlyMap<string, Output>,
): boolean {
  return inputs.every((input) => unspent.has(formatOutputReference(input)));
}

export function applied(
  { hash, inputs, outputs }: ChainTransaction,
  before: ReadonlyMap<string, Output>,
): ReadonlyMap<string, Output> {
  const unspent = new Map(before);
  for (const input of inputs) unspent.delete(formatOutputReference(input));
  for (const [index, { address, funds, datum }] of outputs.entries())
    unspent.set(formatOutputReference({ txHash: hash, index }), {
      address,
      value: sumToValue(funds),
      datum,
    });
  return unspent;
}

/** A transaction's bytes as they are in a block whose producer found its script failing. */
export function markedInvalid(cbor: Uint8Array): Uint8Array {
  const transaction = readCbor(cbor);
  const flag = transaction.kind === "array" ? transaction.items[2] : undefined;
  if (flag?.kind !== "simple") throw new Error("a transaction says whether it is valid");
  const marked = Uint8Array.from(cbor);
  marked[flag.start] = FALSE;
  return marked;
}

/** The first rule of the ledger: nothing is made, and nothing lost but the fee. */
export function requireConserved(
  { inputs, outputs, fee }: ChainTransaction,
  unspent: ReadonlyMap<string, Output>,
): void {
  const left: Value = new Map([["", -fee]]);
  for (const input of inputs)
    addValue(left, unspent.get(formatOutputReference(input))?.value ?? new Map());
  for (const { funds } of outputs)
    for (const { unit, amount } of funds) addAmount(left, unit, -amount);
  if ([...left.values()].some((amount) => amount !== 0n)) throw new Error("value is not conserved");
}

/** The second: whose output is spent has signed. */
export function requireSigned(
  { inputs, signers }: ChainTransaction,
  unspent: ReadonlyMap<string, Output>,
): void {
  for (const input of inputs) {
    const payment = parseAddress(unspent.get(formatOutputReference(input))?.address ?? "")?.payment;
    if (payment?.kind === "key" && !signers.includes(payment.hash))
      throw new Error(`${formatOutputReference(input)} is spent without its owner's signature`);
  }
}

/** What is left of the output that a failed script costs: all but native coin. */
export function leftOfCollateral(
  { outputs, collateralReturn, fee }: ChainTransaction,
  atStake: readonly Output[],
): { index: number; output: Output } {
  if (collateralReturn === null) throw new Error("nothing would be left of the collateral");
  const left = sumToValue(collateralReturn.funds);
  const taken: Value = new Map();
  for (const { value } of atStake) addValue(taken, value);
  addValue(taken, left, -1n);
  const stake = taken.get("") ?? 0n;
  if (taken.size > 1 || stake * 2n < fee * 3n)
    throw new Error("the collateral returns too much or too little");
  const { address } = collateralReturn;
  if (atStake.some((one) => one.address !== address))
    throw new Error("the collateral returns elsewhere");
  return { index: outputs.length, output: { address, value: left } };
}
