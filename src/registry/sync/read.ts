import type { Provider, TransactionPosition } from "../../chain/provider/provider.ts";
import type { ChainTransaction } from "../../chain/transaction/decode-transaction.ts";
import { ProviderBehind } from "../../indexer/checkpoints.ts";
import { decodeSent } from "../../indexer/decode.ts";
import type { MintPosition } from "./cursor.ts";
import type { ListedMint } from "./list.ts";

/** A transaction that minted or burned under a policy, read. */
export interface ReadMint {
  at: TransactionPosition;
  position: MintPosition;
  tx: ChainTransaction;
}

/** @throws ProviderBehind when the provider does not have it */
export async function readMint(
  provider: Provider,
  sourceId: string,
  { txHash, ordinal }: ListedMint,
): Promise<ReadMint> {
  const [at, cbor] = await Promise.all([
    provider.transaction(txHash),
    provider.transactionCbor(txHash),
  ]);
  if (at === null || cbor === null)
    throw new ProviderBehind(`provider: does not have transaction ${txHash}`);
  return {
    at,
    position: [at.blockHeight, at.txIndex, txHash, ordinal],
    tx: decodeSent(sourceId, txHash, cbor),
  };
}
