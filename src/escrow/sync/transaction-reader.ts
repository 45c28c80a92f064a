import {
  type AddressTransaction,
  AnswerTooLarge,
  type Provider,
} from "../../chain/provider/provider.ts";
import { outputAt } from "../../chain/transaction/decode-transaction.ts";
import type { OutputReference } from "../../chain/transaction/transaction-plan.ts";
import { ProviderBehind } from "../../indexer/checkpoints.ts";
import { decodeOrList, fundsOfList } from "../../indexer/decode.ts";
import { escrowOutputs, spentDatums } from "./escrow-outputs.ts";
import type {
  EarlierTransaction,
  EscrowSource,
  ReadTransaction,
  SpentFunds,
} from "./escrow-source.ts";
import type { OwnTransactions } from "./own-transactions.ts";

/** As many transactions are kept that made what others spend, so that a long pass needs no more room. */
const MAX_READS = 200;

/** Reads a transaction; null when the provider does not have it. */
type ReadByHash = (txHash: string) => Promise<EarlierTransaction | null>;

/**
 * Reads transactions of a contract for one pass. Many escrows may come from one earlier
 * transaction, which is read only once.
 *
 * Spent outputs are read from the bytes of the transactions that made them, 16 KiB each. For a
 * single fee anybody can reference so many outputs, with so many tokens, that a list of them is too
 * large to read.
 *
 * @param own - the service's own transactions among them
 * @param complete - false when past transactions were skipped. Then `loadKnown` needs the spent
 *   outputs as well, and they are read here, within the time limit.
 */
export function transactionReader(
  provider: Pick<Provider, "transaction" | "transactionCbor" | "transactionUtxos">,
  own: Pick<OwnTransactions, "cborOf">,
  source: EscrowSource,
  complete: boolean,
): (at: AddressTransaction) => Promise<ReadTransaction> {
  const reads = new Map<string, ReturnType<ReadByHash>>();
  const readByHash: ReadByHash = async (txHash) => {
    const cbor = (await own.cborOf(txHash)) ?? (await provider.transactionCbor(txHash));
    if (cbor === null) return null;
    const tx = await decodeOrList(provider, source.id, txHash, cbor);
    const spent = (input: OutputReference) => readSpent(provider, readOnce, txHash, input);
    let datums: ReturnType<typeof spentDatums> | null = null;
    return {
      ...{ tx, spent },
      async spentDatums() {
        datums ??= spentDatums(source, { tx, spent });
        return datums;
      },
    };
  };
  const readOnce: ReadByHash = async (txHash) => {
    const read = reads.get(txHash) ?? readByHash(txHash);
    reads.set(txHash, read);
    const [oldest] = reads.keys();
    if (reads.size > MAX_READS && oldest !== undefined) reads.delete(oldest);
    try {
      return await read;
    } catch (error) {
      reads.delete(txHash);
      throw error;
    }
  };
  const required = (read: EarlierTransaction | null, txHash: string) => {
    if (read === null) throw new ProviderBehind(`provider: does not have transaction ${txHash}`);
    return read;
  };
  const earlier = async (txHash: string) => required(await readOnce(txHash), txHash);
  return async (at) => {
    const read = required(await readByHash(at.txHash), at.txHash);
    const { tx } = read;
    if (!complete && tx.isValid) await read.spentDatums();
    return { at, ...read, outputs: tx.isValid ? escrowOutputs(source, tx) : [], earlier };
  };
}

/**
 * A spent output. The outputs of a chain's genesis have no transaction with bytes. They are looked
 * up in the provider's list, if it can be read.
 */
async function readSpent(
  provider: Pick<Provider, "transactionUtxos">,
  readOnce: ReadByHash,
  spender: string,
  { txHash, index }: OutputReference,
): Promise<SpentFunds | null> {
  const maker = await readOnce(txHash);
  if (maker !== null) return outputAt(maker.tx, index);
  try {
    const { inputs = [] } = (await provider.transactionUtxos(spender)) ?? {};
    const input = inputs.find((one) => one.txHash === txHash && one.outputIndex === index);
    if (input === undefined) return null;
    return { address: input.address, funds: fundsOfList(input.amount), datum: input.inlineDatum };
  } catch (error) {
    if (error instanceof AnswerTooLarge) return null;
    throw error;
  }
}
