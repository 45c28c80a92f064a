/** What the ledger wants of a transaction's form, whatever it spends. */
import { type CborNode, readCbor } from "../../src/chain/cbor.ts";
import type { ChainTransaction } from "../../src/chain/transaction/decode-transaction.ts";
import { PROTOCOL_PARAMETERS } from "../support/protocol-parameters.ts";

/** Keys of the body, of the witnesses and of an output. */
const OUTPUTS = 1n;
const REDEEMERS = 5n;
const VALUE = 1n;
/** Bytes that the ledger counts of an output beside its own. */
const OUTPUT_OVERHEAD = 160;

const { coinsPerByte, feePerByte, feeConstant, maxTransactionSize, maxValueSize, maxUnits } =
  PROTOCOL_PARAMETERS;

/**
 * Fails for a transaction that every node refuses: outputs without their deposit, empty or
 * oversized outputs, or a low fee.
 *
 * @param tx - the decoded `cbor`
 */
export function requireForm({ outputs, fee }: ChainTransaction, cbor: Uint8Array): void {
  const [body, witnesses] = itemsOf(readCbor(cbor));
  const nodes = itemsOf(at(body, OUTPUTS));
  for (const [i, { funds }] of outputs.entries()) {
    const node = nodes[i];
    const coin = funds.find(({ unit }) => unit === "")?.amount ?? 0n;
    const least = coinsPerByte * BigInt(OUTPUT_OVERHEAD + sizeOf(node));
    if (coin < least) throw new Error(`output ${i} holds ${coin}, less than ${least}`);
    if (funds.some(({ unit, amount }) => unit !== "" && amount <= 0n))
      throw new Error(`output ${i} holds nothing of a token`);
    if (sizeOf(at(node, VALUE)) > maxValueSize)
      throw new Error(`output ${i} holds too many tokens`);
  }
  if (cbor.length > maxTransactionSize) throw new Error("the transaction is too large");
  const { memory, steps } = unitsOf(at(witnesses, REDEEMERS));
  if (memory > maxUnits.memory || steps > maxUnits.steps)
    throw new Error("the transaction's scripts may use too much");
  // Prices of 577 and 0.721 ten thousandths.
  const ofScripts = (memory * 577_000n + steps * 721n + 9_999_999n) / 10_000_000n;
  const owed = feeConstant + feePerByte * BigInt(cbor.length) + ofScripts;
  if (fee < owed) throw new Error(`the fee is ${fee}, less than ${owed}`);
}

function unitsOf(redeemers: CborNode | undefined) {
  const units = { memory: 0n, steps: 0n };
  for (const [, run] of redeemers?.kind === "map" ? redeemers.entries : []) {
    const [memory, steps] = itemsOf(itemsOf(run)[1]);
    if (memory?.kind !== "int" || steps?.kind !== "int") throw new Error("a redeemer has units");
    units.memory += memory.value;
    units.steps += steps.value;
  }
  return units;
}

function at(map: CborNode | undefined, key: bigint): CborNode | undefined {
  const entries = map?.kind === "map" ? map.entries : [];
  return entries.find(([node]) => node.kind === "int" && node.value === key)?.[1];
}

function itemsOf(node: CborNode | undefined): CborNode[] {
  return node?.kind === "array" ? node.items : [];
}

const sizeOf = (node: CborNode | undefined) => (node ? node.end - node.start : 0);
