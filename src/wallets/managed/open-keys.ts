import { deriveWalletKeys, type WalletKeys } from "../../chain/wallet-keys.ts";
import { type SealingEnv, unseal } from "../../db/sealed.ts";
import type { WalletRow } from "./tables.ts";

/** The place that a wallet's mnemonic is sealed for. */
export function toMnemonicEncryptionContext(walletId: string) {
  return { table: "managed_wallet", id: walletId, column: "mnemonic" };
}

type SealedWallet = Pick<WalletRow, "id" | "network" | "mnemonic">;

/** Opens the mnemonic of a wallet in use. @throws SealError */
export function openMnemonic(env: SealingEnv, { id, mnemonic }: SealedWallet): Promise<string> {
  return unseal(env, toMnemonicEncryptionContext(id), mnemonic);
}

/** Opens the keys of a wallet in use. @throws SealError */
export async function openKeys(env: SealingEnv, wallet: SealedWallet): Promise<WalletKeys> {
  return deriveWalletKeys(await openMnemonic(env, wallet), wallet.network);
}
