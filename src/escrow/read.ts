import { type AddressTransaction, type Provider, ProviderError } from "../chain/provider.ts";
import { type ChainTransaction, decodeTransaction } from "../chain/transaction.ts";
import { log } from "../log.ts";
import { ProviderBehind } from "../sources/checkpoints.ts";
import type { ReadTransaction } from "./source.ts";

/** Requests under way at once: an invocation has six connections, and D1 wants one. */
const PARALLEL = 5;

/**
 * Reads transactions in order. When one cannot be read, those before it are returned, so that work
 * done is kept; if it is the first, its error is thrown.
 */
export async function readTransactions(
  provider: Provider,
  rows: AddressTransaction[],
): Promise<ReadTransaction[]> {
  const results: (ReadTransaction | { error: unknown })[] = [];
  for (let i = 0; i < rows.length; i += PARALLEL) {
    const slice = rows.slice(i, i + PARALLEL);
    const read = await Promise.all(
      slice.map((row) => readTransaction(provider, row).catch((error: unknown) => ({ error }))),
    );
    results.push(...read);
    if (read.some((one) => "error" in one)) break;
  }
  const failed = results.findIndex((one) => "error" in one);
  const first = results[0];
  if (first !== undefined && "error" in first) throw first.error;
  const good = failed < 0 ? results : results.slice(0, failed);
  return good.filter((one): one is ReadTransaction => "tx" in one);
}

async function readTransaction(
  provider: Provider,
  at: AddressTransaction,
): Promise<ReadTransaction> {
  const cbor = await provider.transactionCbor(at.txHash);
  if (cbor === null) throw new ProviderBehind(`provider: does not have transaction ${at.txHash}`);
  const tx = decode(at, cbor);
  let utxos: ReturnType<ReadTransaction["utxos"]> | null = null;
  const readUtxos = async () => {
    const found = await provider.transactionUtxos(at.txHash);
    if (found === null)
      throw new ProviderBehind(`provider: does not have transaction ${at.txHash}`);
    return found;
  };
  return {
    at,
    tx,
    utxos() {
      utxos ??= readUtxos();
      return utxos;
    },
  };
}

/**
 * The hash is taken from the bytes, so a provider cannot hand us another transaction's. Bytes that
 * the ledger accepted and we cannot read must not stop the source: they are logged and do nothing.
 */
function decode(at: AddressTransaction, cbor: string): ChainTransaction {
  let tx: ChainTransaction;
  try {
    tx = decodeTransaction(cbor);
  } catch (error) {
    log("error", "sync.transaction_unreadable", { tx: at.txHash, error: String(error) });
    return { ...NOTHING, hash: at.txHash };
  }
  if (tx.hash !== at.txHash)
    throw new ProviderError(`provider: sent another transaction for ${at.txHash}`);
  return tx;
}

const NOTHING: Omit<ChainTransaction, "hash"> = {
  inputs: [],
  outputs: [],
  fee: 0n,
  validFrom: null,
  validTo: null,
  spendRedeemers: [],
  redeemerCount: 0,
  mint: [],
  metadata: new Map(),
  isValid: false,
};
