import { type Provider, ProviderError } from "../../chain/provider/provider.ts";
import { parseTokenMetadata, TOKEN_METADATA_LABEL } from "../../chain/token-metadata.ts";
import {
  type ChainTransaction,
  decodeTransaction,
} from "../../chain/transaction/decode-transaction.ts";
import { POLICY_ID_LENGTH } from "../../chain/unit.ts";
import { ProviderBehindError } from "../../indexer/checkpoints.ts";

/**
 * A token's metadata from the bytes of the transaction that minted it last. All providers then show the same.
 *
 * @returns undefined when the provider has never seen the token, or it has no metadata that can be read
 * @throws ProviderError
 */
export async function loadTokenMetadata(
  provider: Pick<Provider, "assetMint" | "transactionCbor">,
  unit: string,
): Promise<unknown> {
  const txHash = await provider.assetMint(unit);
  if (txHash === null) return undefined;
  const cbor = await provider.transactionCbor(txHash);
  if (cbor === null) throw new ProviderBehindError(`provider: does not have transaction ${txHash}`);
  try {
    const transaction = decodeTransaction(cbor);
    const { hash, isValid, mint } = transaction;
    const hasMinted = mint.some(
      ({ policyId, assetName, quantity }) => quantity > 0n && policyId + assetName === unit,
    );
    if (hash !== txHash || !isValid || !hasMinted)
      throw new ProviderError(`provider: sent another transaction for the mint of ${unit}`);
    return readTokenMetadata(transaction, unit);
  } catch (error) {
    if (error instanceof ProviderError) throw error;
    return undefined;
  }
}

/** The same of a decoded transaction. @throws CborError when the bytes are not metadata */
export function readTokenMetadata({ metadata }: ChainTransaction, unit: string): unknown {
  const label = metadata.get(TOKEN_METADATA_LABEL);
  return (
    label &&
    parseTokenMetadata(label, unit.slice(0, POLICY_ID_LENGTH), unit.slice(POLICY_ID_LENGTH))
  );
}
