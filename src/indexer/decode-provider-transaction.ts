import {
  type Provider,
  ProviderError,
  type ProviderUtxo,
  ResponseTooLargeError,
  type TransactionUtxos,
} from "../chain/provider/provider.ts";
import {
  type ChainOutput,
  type ChainTransaction,
  decodeSpending,
  decodeTransaction,
} from "../chain/transaction/decode-transaction.ts";
import { parseAmounts } from "../chain/unit.ts";
import { ProviderBehindError } from "./checkpoints.ts";
import { logAnomaly } from "./report-failure.ts";

/**
 * Decodes a transaction that a provider sent. The hash is taken from the bytes, so a provider
 * cannot replace the transaction. Unreadable bytes that the ledger accepted must not stop the
 * source. The service logs them, and the transaction changes nothing.
 *
 * @param cbor - hex
 * @throws ProviderError when the hash differs
 */
export function decodeProviderTransaction(
  sourceId: string,
  txHash: string,
  cbor: string,
): ChainTransaction {
  return tryDecode(sourceId, txHash, cbor) ?? { ...EMPTY_TRANSACTION, hash: txHash };
}

/**
 * As `decodeProviderTransaction`, but an unreadable transaction keeps its inputs and outputs, so that it can be
 * followed. They come from its readable parts and from the provider's list. Redeemers that only the
 * unreadable bytes contain have no constructor, and the transaction has no signers.
 *
 * @param cbor - hex
 * @throws ProviderError, also when it is another transaction
 */
export async function decodeWithFallback(
  provider: Pick<Provider, "transaction" | "transactionUtxos">,
  sourceId: string,
  txHash: string,
  cbor: string,
): Promise<ChainTransaction> {
  return (
    tryDecode(sourceId, txHash, cbor) ??
    (await reconstructFromUtxos(provider, txHash, cbor)) ?? { ...EMPTY_TRANSACTION, hash: txHash }
  );
}

/** Null where the bytes cannot be decoded. */
function tryDecode(sourceId: string, txHash: string, cbor: string): ChainTransaction | null {
  let tx: ChainTransaction;
  try {
    tx = decodeTransaction(cbor);
  } catch (error) {
    logAnomaly("unreadable", { source: sourceId, tx: txHash, reason: String(error) });
    return null;
  }
  if (tx.hash !== txHash)
    throw new ProviderError(`provider: sent another transaction for ${txHash}`);
  return tx;
}

/** Null when its scripts failed, or nothing of it can be read. */
async function reconstructFromUtxos(
  provider: Pick<Provider, "transaction" | "transactionUtxos">,
  txHash: string,
  cbor: string,
): Promise<ChainTransaction | null> {
  const place = await provider.transaction(txHash);
  if (place === null)
    throw new ProviderBehindError(`provider: does not have transaction ${txHash}`);
  const list = await loadTransactionUtxos(provider, txHash);
  const inBytes = decodeSpending(cbor);
  const spending = inBytes?.hash === txHash ? inBytes : null;
  const inputs =
    spending?.inputs ??
    list?.inputs.map((input) => ({ txHash: input.txHash, index: input.outputIndex }));
  if (!place.validContract || inputs === undefined) return null;
  const data = new Uint8Array();
  const unknown = inputs.map((_, inputIndex) => ({ inputIndex, constructor: null, data }));
  return {
    ...EMPTY_TRANSACTION,
    isValid: true,
    inputs,
    outputs: list?.outputs.map(toChainOutput) ?? [],
    ...(list !== null && spending !== null
      ? spending
      : { spendRedeemers: unknown, redeemerCount: unknown.length }),
    hash: txHash,
  };
}

/**
 * Its outputs in their order; null where one is missing, or the list is too large: anybody can have it be so
 * for one fee.
 */
async function loadTransactionUtxos(
  provider: Pick<Provider, "transactionUtxos">,
  txHash: string,
): Promise<Pick<TransactionUtxos, "inputs" | "outputs"> | null> {
  try {
    const list = await provider.transactionUtxos(txHash);
    if (list === null)
      throw new ProviderBehindError(`provider: does not have transaction ${txHash}`);
    const outputs = list.outputs.toSorted((a, b) => a.outputIndex - b.outputIndex);
    const isWhole = outputs.every(({ outputIndex }, position) => outputIndex === position);
    return isWhole ? { inputs: list.inputs, outputs } : null;
  } catch (error) {
    if (error instanceof ResponseTooLargeError) return null;
    throw error;
  }
}

function toChainOutput(listedOutput: ProviderUtxo): ChainOutput {
  const { address, amount, inlineDatum, referenceScriptHash } = listedOutput;
  return {
    ...{ address, datum: inlineDatum, datumHash: null },
    funds: parseAmounts(amount),
    hasReferenceScript: referenceScriptHash !== null,
  };
}

const EMPTY_TRANSACTION: Omit<ChainTransaction, "hash"> = {
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
