import { parseAddress } from "../chain/address.ts";
import type { Network } from "../chain/network.ts";
import type { Provider } from "../chain/provider/provider.ts";

/** The wallet that holds an agent's token, and is paid. */
export interface SellerWallet {
  address: string;
  /** Payment key hash, hex. */
  vkey: string;
}

const HOLDER_CACHE_TTL_MS = 20_000;
const MAX_CACHED_HOLDERS = 5_000;

/** Holders by source and token: repeated requests for an agent ask the provider once. */
const holderCache = new Map<string, { wallet: SellerWallet | null; until: number }>();

/**
 * The wallet that holds a token now, or did up to twenty seconds ago. Null when nobody does, or a
 * script, which has no key to be paid to.
 *
 * @param scope - what the answer holds for: the source's id
 * @throws ProviderError
 */
export async function findSellerWallet(
  provider: Pick<Provider, "assetHolders">,
  scope: string,
  network: Network,
  agentIdentifier: string,
): Promise<SellerWallet | null> {
  const key = `${scope} ${agentIdentifier}`;
  const now = Date.now();
  const cached = holderCache.get(key);
  if (cached && cached.until > now) return cached.wallet;
  const holders = (await provider.assetHolders(agentIdentifier)) ?? [];
  const wallet = toSellerWallet(
    network,
    holders.find(({ quantity }) => BigInt(quantity) > 0n)?.address,
  );
  if (holderCache.size >= MAX_CACHED_HOLDERS) holderCache.clear();
  holderCache.set(key, { wallet, until: now + HOLDER_CACHE_TTL_MS });
  return wallet;
}

function toSellerWallet(network: Network, address: string | undefined): SellerWallet | null {
  const parsed = address === undefined ? null : parseAddress(address);
  if (parsed?.network !== network || parsed.payment.kind !== "key") return null;
  return { address: parsed.bech32, vkey: parsed.payment.hash };
}
