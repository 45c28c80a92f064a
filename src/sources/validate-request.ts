import { type ParsedAddress, parseAddress } from "../chain/address.ts";
import type { Network } from "../chain/network.ts";
import {
  type Provider,
  ProviderError,
  type TransactionPosition,
} from "../chain/provider/provider.ts";
import { ApiError } from "../http/errors.ts";

/**
 * A contract's address in the chain's letter case, with its script hash (hex).
 *
 * @throws ApiError 400 when it is not a contract's address on that network
 */
export function requireContractAddress(
  network: Network,
  text: string,
): { address: string; scriptHash: string } {
  const parsed = parseAddress(text);
  if (parsed?.payment.kind !== "script" || parsed.network !== network)
    throw new ApiError(400, `smartContractAddress: must be a contract's address on ${network}`);
  return { address: parsed.bech32, scriptHash: parsed.payment.hash };
}

/**
 * An address in the chain's letter case.
 *
 * @param field - where the request has it
 * @throws ApiError 400 naming the field
 */
export function requireAddress(network: Network, field: string, text: string): string {
  return requireParsedAddress(network, field, text).bech32;
}

/** The same, with the decoded address. */
export function requireParsedAddress(network: Network, field: string, text: string): ParsedAddress {
  const parsed = parseAddress(text);
  if (parsed?.network !== network)
    throw new ApiError(400, `${field}: must be an address on ${network}`);
  return parsed;
}

/**
 * Asks the provider for its tip, which it returns to valid keys only.
 *
 * @param field - where the request has the key
 * @throws ApiError 400 for a refused key, 502 with the provider's answer; ProviderError
 */
export async function checkProviderKey(
  provider: Provider,
  field = "PaymentSourceConfig.rpcProviderApiKey",
): Promise<void> {
  try {
    await provider.latestBlock();
  } catch (error) {
    if (!(error instanceof ProviderError)) throw error;
    if (error.status === 401 || error.status === 403)
      throw new ApiError(400, `${field}: the provider refuses this key on this network`);
    if (error.status === null || error.retryAt !== null) throw error;
    throw new ApiError(
      "chain_provider_failed",
      `The chain provider failed with the status ${error.status}`,
    );
  }
}

/**
 * Requires the bytes of a contract's first transaction, if there is one: nothing else that a provider says
 * can be verified.
 *
 * @throws ApiError 400 when the provider lacks them; ProviderError
 */
export async function requireTransactionBytes(provider: Provider, address: string): Promise<void> {
  const [first] = (await provider.addressTransactions(address, { page: 1, count: 1 })) ?? [];
  if (first && (await provider.transactionCbor(first.txHash)) === null)
    throw new ApiError(
      400,
      "PaymentSourceConfig: the chain provider lacks the bytes of transactions. Use one that has them",
    );
}

/**
 * Requires the list of a policy's redeemers, from which a registry is read, where the policy was used.
 *
 * @throws ApiError 400 when the provider lacks it; ProviderError
 */
export async function requirePolicyHistory(provider: Provider, policyId: string): Promise<void> {
  if ((await provider.scriptRedeemers(policyId, { page: 1, count: 1 })) !== null) return;
  if ((await provider.scriptCbor(policyId)) !== null)
    throw new ApiError(
      400,
      "rpcProviderApiKey: the chain provider lacks the redeemers of a policy. Use one that has them",
    );
}

/**
 * The chain position of a contract's transaction.
 *
 * @throws ApiError 400 when the provider does not know it, or it does not involve the contract;
 *   ProviderError when the provider cannot be reached
 */
export async function findContractTransaction(
  provider: Provider,
  contractAddress: string,
  hash: string,
): Promise<TransactionPosition> {
  const refused = new ApiError(
    400,
    "lastIdentifierChecked: must be the hash of a transaction of this contract",
  );
  if (!/^[0-9a-f]{64}$/.test(hash)) throw refused;
  const [position, utxos] = await Promise.all([
    provider.transaction(hash),
    provider.transactionUtxos(hash),
  ]);
  const touched = [...(utxos?.inputs ?? []), ...(utxos?.outputs ?? [])];
  if (!position || !touched.some(({ address }) => address === contractAddress)) throw refused;
  return position;
}
