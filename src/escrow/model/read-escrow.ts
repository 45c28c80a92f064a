import { decodeEscrowDatum, type EscrowDatum } from "../../chain/contracts/escrow-datum.ts";
import type { ChainOutput } from "../../chain/transaction/decode-transaction.ts";
import {
  type OutputReference,
  parseOutputReference,
} from "../../chain/transaction/transaction-plan.ts";
import { sumToValue, type Value } from "../../chain/transaction/value.ts";
import { TaskError } from "../../task-error.ts";
import { type EscrowRecord, fundsOf, type LiveOutput, toStoredFunds } from "./escrow-record.ts";

/** An escrow as the chain has it: the output that holds the funds, and what its datum says. */
export interface Escrow extends OutputReference {
  value: Value;
  datum: EscrowDatum;
}

/** A step cannot be done, now or ever. The message tells the record's owner why. */
export class StepImpossibleError extends TaskError {
  override name = "StepImpossibleError";
}

/**
 * Reads the output that holds a record's funds.
 *
 * @throws StepImpossibleError when it is no escrow
 */
export function readEscrow(
  { utxo, value, datum: cbor }: LiveOutput,
  record: Pick<EscrowRecord, "sourceType" | "network" | "contractAddress">,
): Escrow {
  const { sourceType: version, network, contractAddress } = record;
  const decoded = decodeEscrowDatum(cbor, { version, network, contractAddress });
  if (!decoded.ok)
    throw new StepImpossibleError(`the escrow's datum cannot be read: ${decoded.reason}`);
  return {
    ...parseOutputReference(utxo),
    value: sumToValue(value.map(fundsOf)),
    datum: decoded.datum,
  };
}

/** An output as a record keeps it while it holds the funds. */
export function toLiveOutput(
  txHash: string,
  { index, output }: { index: number; output: Pick<ChainOutput, "funds" | "datum"> },
): LiveOutput | null {
  if (output.datum === null) return null;
  return {
    utxo: `${txHash}#${index}`,
    value: output.funds.map(toStoredFunds),
    datum: output.datum,
  };
}
