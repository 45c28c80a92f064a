import type { AddressTransaction, Provider } from "../../chain/provider/provider.ts";
import { ProviderBehind } from "../../indexer/checkpoints.ts";
import { decodeSent } from "../../indexer/decode.ts";
import { escrowOutputs, spentDatums } from "../fold/escrow-outputs.ts";
import type { EarlierTransaction, EscrowSource, ReadTransaction } from "../fold/source.ts";
import type { OwnTransactions } from "./own.ts";

/**
 * Reads transactions of a contract, for one pass: many escrows may come from the same earlier
 * transaction, and each of those is read once.
 *
 * @param own - the service's own among them
 * @param complete - false when transactions were skipped in the past: whoever looks for the records
 *   that are spent (`loadKnown`) then needs the spent outputs as well, so they are read here, where
 *   time is kept
 */
export function transactionReader(
  provider: Provider,
  own: Pick<OwnTransactions, "cborOf">,
  source: EscrowSource,
  complete: boolean,
): (at: AddressTransaction) => Promise<ReadTransaction> {
  const reads = new Map<string, Promise<EarlierTransaction>>();
  const earlier = async (txHash: string) => {
    const read = reads.get(txHash) ?? readByHash(provider, own, source, txHash);
    reads.set(txHash, read);
    try {
      return await read;
    } catch (error) {
      reads.delete(txHash);
      throw error;
    }
  };
  return async (at) => {
    const read = await readByHash(provider, own, source, at.txHash);
    const { tx } = read;
    if (!complete && tx.isValid && tx.spendRedeemers.length > 0) await read.utxos();
    return { at, ...read, outputs: tx.isValid ? escrowOutputs(source, tx) : [], earlier };
  };
}

async function readByHash(
  provider: Provider,
  own: Pick<OwnTransactions, "cborOf">,
  source: EscrowSource,
  txHash: string,
): Promise<EarlierTransaction> {
  const cbor = (await own.cborOf(txHash)) ?? (await provider.transactionCbor(txHash));
  if (cbor === null) throw new ProviderBehind(`provider: does not have transaction ${txHash}`);
  const tx = decodeSent(source.id, txHash, cbor);
  let utxos: ReturnType<EarlierTransaction["utxos"]> | null = null;
  let datums: ReturnType<typeof spentDatums> | null = null;
  const readUtxos = async () => {
    const found = await provider.transactionUtxos(txHash);
    if (found === null) throw new ProviderBehind(`provider: does not have transaction ${txHash}`);
    return found;
  };
  const readUtxosOnce = () => {
    utxos ??= readUtxos();
    return utxos;
  };
  return {
    tx,
    utxos: readUtxosOnce,
    async spentDatums() {
      datums ??= spentDatums(source, await readUtxosOnce());
      return datums;
    },
  };
}
