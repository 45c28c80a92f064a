/** Runs the scripts of drafts whose escrows are on no ledger, so that these can have any form and size. */
import { blake2b256 } from "../../../devnet/blake2b.ts";
import { encodeOutput } from "../../../devnet/demo/actors/transaction.ts";
import { WALLETS } from "../../../devnet/demo/actors/wallets.ts";
import { type Evaluation, evaluateScripts } from "../../../devnet/ledger/emulator.ts";
import { LedgerRejection } from "../../../devnet/ledger/rejection.ts";
import { outputKey, readTransaction } from "../../../devnet/ledger/transaction.ts";
import { encodePlutusData, type PlutusData } from "../../../src/chain/plutus/data.ts";
import { build, type Draft, datumData } from "./drafts.ts";
import type { Board, Escrow } from "./escrows.ts";
import { openStage } from "./stage.ts";

const STAGE = openStage();
const WALLET_OUTPUTS = WALLETS.flatMap(({ address }) => STAGE.utxosAt(address));

export interface Spent extends Escrow {
  /** Settles its disputes. Default: three administrators. */
  board?: Board;
  /** Replaces its datum. */
  data?: PlutusData;
  /** The output has only the hash of its datum. */
  isByHash?: boolean;
}

/** The units that all scripts of a transaction use. */
export type Usage = Pick<Evaluation, "memory" | "steps">;

/** @throws LedgerRejection when a script refuses the transaction */
export function evaluateDraft(draft: Draft): Usage {
  const cbor = build(STAGE, draft);
  const { inputs, collateral } = readTransaction(cbor);
  const named = new Set([...inputs, ...collateral].map(outputKey));
  const paying = WALLET_OUTPUTS.filter((output) => named.has(outputKey(output)));
  const escrows = draft.spends.map(({ escrow }) => {
    const { txHash, index, deployment, funds, datum, data, isByHash }: Spent = escrow;
    const { address } = deployment;
    const cbor = encodePlutusData(data ?? datumData(datum));
    const carried = isByHash ? { datumHash: blake2b256(cbor) } : { datum: cbor };
    return { txHash, index, cbor: encodeOutput({ address, funds, ...carried }) };
  });
  const used = evaluateScripts(cbor, [...paying, ...escrows]);
  const sumOf = (unit: keyof Usage) => used.reduce((total, each) => total + each[unit], 0);
  return { memory: sumOf("memory"), steps: sumOf("steps") };
}

/** The same; null when a script refuses the transaction. */
export function evaluateIfAccepted(draft: Draft): Usage | null {
  try {
    return evaluateDraft(draft);
  } catch (error) {
    if (error instanceof LedgerRejection) return null;
    throw error;
  }
}
