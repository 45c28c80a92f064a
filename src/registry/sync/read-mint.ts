import type { Provider, TransactionPosition } from "../../chain/provider/provider.ts";
import type { ChainTransaction } from "../../chain/transaction/decode-transaction.ts";
import { ProviderBehindError } from "../../indexer/checkpoints.ts";
import { decodeProviderTransaction } from "../../indexer/decode-provider-transaction.ts";
import type { MintPosition } from "./cursor.ts";
import type { ListedMint } from "./list-mints.ts";

/** A transaction that minted or burned under a policy, read. */
export interface MintTransaction {
  blockPosition: TransactionPosition;
  mintPosition: MintPosition;
  transaction: ChainTransaction;
}

/** @throws ProviderBehindError when the provider does not have it */
export async function readMint(
  provider: Provider,
  sourceId: string,
  { txHash, ordinal }: ListedMint,
): Promise<MintTransaction> {
  const [at, cbor] = await Promise.all([
    provider.transaction(txHash),
    provider.transactionCbor(txHash),
  ]);
  if (at === null || cbor === null)
    throw new ProviderBehindError(`provider: does not have transaction ${txHash}`);
  return {
    blockPosition: at,
    mintPosition: [at.blockHeight, at.txIndex, txHash, ordinal],
    transaction: decodeProviderTransaction(sourceId, txHash, cbor),
  };
}
