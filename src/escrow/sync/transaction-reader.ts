import {
  type AddressTransaction,
  type Provider,
  ResponseTooLargeError,
} from "../../chain/provider/provider.ts";
import { outputAt } from "../../chain/transaction/decode-transaction.ts";
import type { OutputReference } from "../../chain/transaction/transaction-plan.ts";
import { parseAmounts } from "../../chain/unit.ts";
import { ProviderBehindError } from "../../indexer/checkpoints.ts";
import { decodeWithFallback } from "../../indexer/decode-provider-transaction.ts";
import { decodeEscrowOutputs, loadSpentDatums } from "./escrow-outputs.ts";
import type {
  ContractTransaction,
  EarlierTransaction,
  EscrowSource,
  SpentFunds,
} from "./escrow-source.ts";
import type { OwnTransactions } from "./own-transactions.ts";

/** As many transactions are kept that made what others spend, so that a long pass needs no more room. */
const MAX_CACHED_READS = 200;

/** Reads a transaction; null when the provider does not have it. */
type TransactionLoader = (txHash: string) => Promise<EarlierTransaction | null>;

/**
 * Reads transactions of a contract for one pass. Many escrows may come from one earlier
 * transaction, which is read only once.
 *
 * Spent outputs are read from the bytes of the transactions that made them, 16 KiB each. For a
 * single fee anybody can reference so many outputs, with so many tokens, that a list of them is too
 * large to read.
 *
 * @param own - the service's own transactions among them
 * @param complete - false when past transactions were skipped. Then `loadKnownRecords` needs the spent
 *   outputs as well, and they are read here, within the time limit.
 */
export function createTransactionReader(
  provider: Pick<Provider, "transaction" | "transactionCbor" | "transactionUtxos">,
  own: Pick<OwnTransactions, "cborOf">,
  source: EscrowSource,
  complete: boolean,
): (at: AddressTransaction) => Promise<ContractTransaction> {
  const reads = new Map<string, ReturnType<TransactionLoader>>();
  const readByHash: TransactionLoader = async (txHash) => {
    const cbor = (await own.cborOf(txHash)) ?? (await provider.transactionCbor(txHash));
    if (cbor === null) return null;
    const tx = await decodeWithFallback(provider, source.id, txHash, cbor);
    const spent = (input: OutputReference) => readSpentOutput(provider, readOnce, txHash, input);
    let datums: ReturnType<typeof loadSpentDatums> | null = null;
    return {
      ...{ tx, spent },
      async loadSpentDatums() {
        datums ??= loadSpentDatums(source, { tx, spent });
        return datums;
      },
    };
  };
  const readOnce: TransactionLoader = async (txHash) => {
    const read = reads.get(txHash) ?? readByHash(txHash);
    reads.set(txHash, read);
    const [oldest] = reads.keys();
    if (reads.size > MAX_CACHED_READS && oldest !== undefined) reads.delete(oldest);
    try {
      return await read;
    } catch (error) {
      reads.delete(txHash);
      throw error;
    }
  };
  const requireTransaction = (read: EarlierTransaction | null, txHash: string) => {
    if (read === null)
      throw new ProviderBehindError(`provider: does not have transaction ${txHash}`);
    return read;
  };
  const earlier = async (txHash: string) => requireTransaction(await readOnce(txHash), txHash);
  return async (at) => {
    const read = requireTransaction(await readByHash(at.txHash), at.txHash);
    const { tx } = read;
    if (!complete && tx.isValid) await read.loadSpentDatums();
    return {
      at,
      ...read,
      outputs: tx.isValid ? decodeEscrowOutputs(source, tx) : [],
      loadEarlier: earlier,
    };
  };
}

/**
 * A spent output. The outputs of a chain's genesis have no transaction with bytes. They are looked
 * up in the provider's list, if it can be read.
 */
async function readSpentOutput(
  provider: Pick<Provider, "transactionUtxos">,
  readOnce: TransactionLoader,
  spender: string,
  { txHash, index }: OutputReference,
): Promise<SpentFunds | null> {
  const maker = await readOnce(txHash);
  if (maker !== null) return outputAt(maker.tx, index);
  try {
    const { inputs = [] } = (await provider.transactionUtxos(spender)) ?? {};
    const input = inputs.find((one) => one.txHash === txHash && one.outputIndex === index);
    if (input === undefined) return null;
    return { address: input.address, funds: parseAmounts(input.amount), datum: input.inlineDatum };
  } catch (error) {
    if (error instanceof ResponseTooLargeError) return null;
    throw error;
  }
}
