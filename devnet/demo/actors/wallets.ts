import { sha256 } from "@noble/hashes/sha2.js";
import { utf8ToBytes } from "@noble/hashes/utils.js";
import { entropyToMnemonic } from "@scure/bip39";
import { wordlist } from "@scure/bip39/wordlists/english.js";
import type { PaymentSourceType } from "../../../src/chain/network.ts";
import { deriveWalletKeys, type WalletKeys } from "../../../src/chain/wallet-keys.ts";

/** A wallet of the local chain. Its words are public: it must never hold anything of value. */
export interface Wallet {
  /** Such as `seller-0`; the words are derived from it, so it is the same wallet on every machine. */
  name: string;
  /** 24 words. */
  mnemonic: string;
  keys: WalletKeys;
  /** Base address on Preprod, bech32. */
  address: string;
  /** Payment key hash, hex. */
  vkey: string;
}

async function wallet(name: string): Promise<Wallet> {
  const entropy = sha256(utf8ToBytes(`local chain wallet ${name}`));
  const mnemonic = entropyToMnemonic(entropy, wordlist);
  const keys = await deriveWalletKeys(mnemonic, "Preprod");
  return { name, mnemonic, keys, address: keys.address, vkey: keys.vkey };
}

export const SELLERS = [
  await wallet("seller-0"),
  await wallet("seller-1"),
  await wallet("seller-2"),
  await wallet("seller-3"),
] as const;
export const BUYERS = [
  await wallet("buyer-0"),
  await wallet("buyer-1"),
  await wallet("buyer-2"),
  await wallet("buyer-3"),
] as const;
/** Settles disputes, receives the fees and stands as the admin wallet of the payment sources. */
export const ADMIN = await wallet("admin");
/** Belongs to nobody whom the service knows. */
export const STRANGER = await wallet("stranger");

export const WALLETS: readonly Wallet[] = [...SELLERS, ...BUYERS, ADMIN, STRANGER];

/** Whose wallets the demo's payment sources manage: a wallet is managed by one source only. */
export const CASTS: Record<PaymentSourceType, { sellers: Wallet[]; buyers: Wallet[] }> = {
  Web3ChainV1: { sellers: SELLERS.slice(0, 2), buyers: BUYERS.slice(0, 2) },
  Web3ChainV2: { sellers: SELLERS.slice(2), buyers: BUYERS.slice(2) },
};

const OUTPUTS_PER_WALLET = 4;
const FUNDS_PER_OUTPUT = 1_000_000_000_000n;

/** Genesis outputs that give every wallet four times a million whole coins. */
export const ACTOR_FUNDS: { address: string; lovelace: bigint }[] = WALLETS.flatMap(({ address }) =>
  Array.from({ length: OUTPUTS_PER_WALLET }, () => ({ address, lovelace: FUNDS_PER_OUTPUT })),
);
