import { ProviderError } from "../chain/provider/provider.ts";
import { type ChainTransaction, decodeTransaction } from "../chain/transaction/decode.ts";
import { tellOdd } from "./tell.ts";

/**
 * Decodes a transaction that a provider sent. The hash is taken from the bytes, so a provider cannot
 * hand us another transaction's. Bytes that the ledger accepted and we cannot read must not stop the
 * source: the operator is told, and the transaction changes nothing.
 *
 * @param cbor - hex
 * @throws ProviderError when it is another transaction
 */
export function decodeSent(sourceId: string, txHash: string, cbor: string): ChainTransaction {
  let tx: ChainTransaction;
  try {
    tx = decodeTransaction(cbor);
  } catch (error) {
    tellOdd("unreadable", { source: sourceId, tx: txHash, reason: String(error) });
    return { ...NOTHING, hash: txHash };
  }
  if (tx.hash !== txHash)
    throw new ProviderError(`provider: sent another transaction for ${txHash}`);
  return tx;
}

const NOTHING: Omit<ChainTransaction, "hash"> = {
  inputs: [],
  outputs: [],
  collateralReturn: null,
  fee: 0n,
  validFrom: null,
  validTo: null,
  spendRedeemers: [],
  redeemerCount: 0,
  mint: [],
  metadata: new Map(),
  signers: [],
  isValid: false,
};
