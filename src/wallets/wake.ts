import type { Network } from "../chain/network.ts";
import { type Database, db } from "../db/client.ts";
import type { Env } from "../env.ts";
import { log } from "../log.ts";
import { type DueWallets, walletsDueIn } from "./due.ts";

type WalletEnv = Pick<Env, "HOT_WALLET">;

/**
 * Asks a wallet's object to go on; it is named by the key, so however often a wallet is removed and
 * added, its key is used in one place. What cannot be woken is found by the cron.
 *
 * @param vkey - payment key hash, hex
 */
export async function wakeWallet(
  env: WalletEnv,
  network: Network,
  vkey: string,
  requestId: string,
): Promise<void> {
  const { HOT_WALLET } = env;
  try {
    const id = HOT_WALLET.idFromName(`${network}:${vkey}`);
    await HOT_WALLET.get(id).wake(network, vkey, requestId);
  } catch (error) {
    log("warn", "wallet.wake_failed", { wallet: vkey, requestId, error: String(error) });
  }
}

/** Those with a transaction that has to be looked at. */
const walletsToLookAt = walletsDueIn("wallet_transaction");

/** Wakes every wallet that has something to do. For the cron. */
export function wakeDueWallets(
  env: WalletEnv & { DB: D1Database },
  features: readonly DueWallets[],
  requestId: string,
): Promise<void> {
  return wakeWalletsOf(env, db(env), [walletsToLookAt, ...features], requestId);
}

/** Wakes every wallet for which one of some features has work. */
export async function wakeWalletsOf(
  env: WalletEnv,
  database: Database,
  features: readonly DueWallets[],
  requestId: string,
): Promise<void> {
  const now = Date.now();
  const due = await Promise.all(features.map((walletsOf) => walletsOf(database, now)));
  const wallets = new Map(due.flat().map((one) => [`${one.network}:${one.vkey}`, one]));
  await Promise.all(
    [...wallets.values()].map(({ network, vkey }) => wakeWallet(env, network, vkey, requestId)),
  );
}
