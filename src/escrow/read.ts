import { type AddressTransaction, type Provider, ProviderError } from "../chain/provider.ts";
import { type ChainTransaction, decodeTransaction } from "../chain/transaction.ts";
import { log } from "../log.ts";
import { ProviderBehind } from "../sources/checkpoints.ts";
import type { EarlierTransaction, ReadTransaction } from "./source.ts";

/** Requests under way at once: an invocation has six connections, and D1 wants one. */
const PARALLEL = 5;

export interface ReadOptions {
  /**
   * False when transactions were skipped in the past: whoever looks for the records that are spent
   * (`loadKnown`) then needs the spent outputs as well, so they are read here, where time is kept.
   */
  complete: boolean;
  /** Epoch milliseconds after which no further transactions are begun. */
  until: number;
  /** Epoch milliseconds. */
  now(): number;
}

/**
 * Reads transactions in order: the first few in any case, and then as many as there is time for.
 * When one cannot be read, those before it are returned, so that work done is kept; if it is the
 * first, its error is thrown.
 */
export async function readTransactions(
  provider: Provider,
  rows: AddressTransaction[],
  { complete, until, now }: ReadOptions,
): Promise<ReadTransaction[]> {
  const results: (ReadTransaction | { error: unknown })[] = [];
  for (let i = 0; i < rows.length; i += PARALLEL) {
    const slice = rows.slice(i, i + PARALLEL);
    const read = await Promise.all(
      slice.map((row) =>
        readTransaction(provider, row, complete).catch((error: unknown) => ({ error })),
      ),
    );
    results.push(...read);
    if (read.some((one) => "error" in one) || now() >= until) break;
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
  complete: boolean,
): Promise<ReadTransaction> {
  const read = await readByHash(provider, at.txHash);
  const { tx } = read;
  if (!complete && tx.isValid && tx.spendRedeemers.length > 0) await read.utxos();
  return { at, ...read, earlier: (txHash) => readByHash(provider, txHash) };
}

async function readByHash(provider: Provider, txHash: string): Promise<EarlierTransaction> {
  const cbor = await provider.transactionCbor(txHash);
  if (cbor === null) throw new ProviderBehind(`provider: does not have transaction ${txHash}`);
  const tx = decode(txHash, cbor);
  let utxos: ReturnType<EarlierTransaction["utxos"]> | null = null;
  const readUtxos = async () => {
    const found = await provider.transactionUtxos(txHash);
    if (found === null) throw new ProviderBehind(`provider: does not have transaction ${txHash}`);
    return found;
  };
  return {
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
function decode(txHash: string, cbor: string): ChainTransaction {
  let tx: ChainTransaction;
  try {
    tx = decodeTransaction(cbor);
  } catch (error) {
    log("error", "sync.transaction_unreadable", { tx: txHash, error: String(error) });
    return { ...NOTHING, hash: txHash };
  }
  if (tx.hash !== txHash)
    throw new ProviderError(`provider: sent another transaction for ${txHash}`);
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
