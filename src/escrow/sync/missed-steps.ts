import { decodeBlockchainIdentifier } from "../../chain/contracts/blockchain-identifier.ts";
import { logAnomaly } from "../../indexer/report-failure.ts";
import type { EscrowRecord } from "../model/escrow-record.ts";
import { endsEscrow } from "../model/transitions.ts";
import type { ContractTransaction, EarlierTransaction, Lookback } from "./escrow-source.ts";

/** A script input of a transaction. */
export interface SpentOutput {
  /** `hash#index`. */
  outpoint: string;
  /** Constructor number; null when the redeemer is no constructor. */
  redeemer: number | null;
  /** The redeemer, CBOR. */
  redeemerCbor: Uint8Array;
}

/** There was no time to look back as far as a transaction asks for. It may wait for a later run. */
export class LookbackTimeoutError extends Error {
  override name = "LookbackTimeoutError";
}

/** The script inputs of a transaction, in canonical order. */
export function extractSpentOutputs({ tx }: EarlierTransaction): SpentOutput[] {
  return tx.spendRedeemers.flatMap(({ inputIndex, constructor: redeemer, data }) => {
    const input = tx.inputs[inputIndex];
    return input
      ? [{ outpoint: `${input.txHash}#${input.index}`, redeemer, redeemerCbor: data }]
      : [];
  });
}

/**
 * The records of an escrow whose funds reached the spent output through skipped transactions.
 * Anyone can lock a copy of a datum, and a party can spend its own copy. Therefore the output must
 * descend from the output that holds the funds.
 *
 * Each step back may take two provider calls. If the time is over, the service logs it and changes
 * no record. So it does for outputs of no record.
 *
 * @param outpoint - the spent output, `hash#index`
 * @throws LookbackTimeoutError when time is over and the transaction may wait
 */
export async function findRecordsWithMissedSteps(
  records: EscrowRecord[],
  sourceId: string,
  read: ContractTransaction,
  outpoint: string,
  { until, now, isDeferrable }: Lookback,
): Promise<EscrowRecord[]> {
  const [first] = records;
  if (first === undefined) return [];
  const signature = decodeBlockchainIdentifier(first.blockchainIdentifier)?.signature;
  const found: EscrowRecord[] = [];
  const logGap = (reason: string) =>
    logAnomaly("gap", { source: sourceId, tx: read.tx.hash, record: first.id, reason });
  let at: string | null = outpoint;
  for (let steps = 0; found.length < records.length; steps++) {
    if (now() >= until) {
      if (isDeferrable) throw new LookbackTimeoutError();
      logGap(`the sync missed ${steps} steps, too many to read in time`);
      return found;
    }
    at = await findPreviousOutput(read, at, signature);
    if (at === null) break;
    found.push(...records.filter(({ state }) => state.utxo === at));
  }
  if (found.length === 0) logGap("does not descend from the output that holds the funds");
  return found;
}

/** The output of the same escrow that an output continues; null when it continues none. */
async function findPreviousOutput(
  read: ContractTransaction,
  outpoint: string,
  signature: string | undefined,
): Promise<string | null> {
  const transaction = await read.loadEarlier(outpoint.split("#")[0] ?? "");
  const datums = await transaction.loadSpentDatums();
  const before = extractSpentOutputs(transaction).find(({ outpoint: input, redeemer }) => {
    return datums.get(input)?.referenceSignature === signature && !endsEscrow(redeemer);
  });
  return before?.outpoint ?? null;
}
