import { decodeBlockchainIdentifier } from "../chain/identifier.ts";
import { log } from "../log.ts";
import { escrowDatum } from "./known.ts";
import type { EscrowRecord } from "./record.ts";
import type { EarlierTransaction, EscrowSource, ReadTransaction } from "./source.ts";
import { endsEscrow } from "./transitions.ts";

/** A script input of a transaction. */
export interface SpentOutput {
  /** `hash#index`. */
  outpoint: string;
  /** Constructor number; null when the redeemer is no constructor. */
  redeemer: number | null;
}

/** Steps that are looked back over skipped transactions: two calls to the provider each. */
const LONGEST_GAP = 10;

/** The script inputs of a transaction, in canonical order. */
export function spentOutputs({ tx }: EarlierTransaction): SpentOutput[] {
  return tx.spendRedeemers.flatMap(({ inputIndex, constructor: redeemer }) => {
    const input = tx.inputs[inputIndex];
    return input ? [{ outpoint: `${input.txHash}#${input.index}`, redeemer }] : [];
  });
}

/** The inline datums (CBOR in hex, or null) of the inputs at the contract, by outpoint. */
export async function spentDatums(
  source: EscrowSource,
  read: EarlierTransaction,
): Promise<Map<string, string | null>> {
  const { inputs } = await read.utxos();
  return new Map(
    inputs
      .filter(({ address }) => address === source.contractAddress)
      .map((input) => [`${input.txHash}#${input.outputIndex}`, input.inlineDatum]),
  );
}

/**
 * Those of an escrow's records whose funds went on, in transactions that were skipped, to an
 * output that is spent now. Anyone can lock a copy of a datum, and a party can spend its own copy:
 * what counts is that the output descends from the one that holds the funds.
 *
 * @param outpoint - the spent output, `hash#index`
 */
export async function recordsAhead(
  records: EscrowRecord[],
  source: EscrowSource,
  read: ReadTransaction,
  outpoint: string,
): Promise<EscrowRecord[]> {
  const [first] = records;
  if (first === undefined) return [];
  const signature = decodeBlockchainIdentifier(first.blockchainIdentifier)?.signature;
  const found: EscrowRecord[] = [];
  let at: string | null = outpoint;
  for (let step = 0; step < LONGEST_GAP && found.length < records.length; step++) {
    at = await outputBefore(source, read, at, signature);
    if (at === null) break;
    found.push(...records.filter(({ state }) => state.utxo === at));
  }
  if (found.length === 0)
    log("warn", "sync.spend_skipped", {
      tx: read.tx.hash,
      record: first.id,
      reason: "does not descend from the output that holds the funds",
    });
  return found;
}

/** The output of the same escrow that an output continues; null when it continues none. */
async function outputBefore(
  source: EscrowSource,
  read: ReadTransaction,
  outpoint: string,
  signature: string | undefined,
): Promise<string | null> {
  const made = await read.earlier(outpoint.split("#")[0] ?? "");
  const datums = await spentDatums(source, made);
  const before = spentOutputs(made).find(({ outpoint: input, redeemer }) => {
    const datum = escrowDatum(source, datums.get(input) ?? null);
    return datum?.referenceSignature === signature && !endsEscrow(redeemer);
  });
  return before?.outpoint ?? null;
}
