import type { Network } from "../chain/network.ts";
import { db } from "../db/client.ts";
import type { Env } from "../env.ts";
import { log } from "../log.ts";
import { dueWallets } from "./registration-store.ts";

/** The RPC of `durable-objects/hot-wallet.ts`. */
export interface WalletRpc {
  /** @param vkey - payment key hash, hex */
  wake(network: Network, vkey: string, requestId: string): Promise<void>;
}

type WalletEnv = Pick<Env, "HOT_WALLET">;

/**
 * Asks a wallet's object to go on; it is named by the key, so however often a wallet is removed and
 * added, its key is used in one place. What cannot be woken is found by the cron.
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
    await (HOT_WALLET.get(id) as unknown as WalletRpc).wake(network, vkey, requestId);
  } catch (error) {
    log("warn", "wallet.wake_failed", { wallet: vkey, requestId, error: String(error) });
  }
}

/** Wakes every wallet that has something to do. For the cron. */
export async function wakeDueWallets(
  env: WalletEnv & { DB: D1Database },
  requestId: string,
): Promise<void> {
  const due = await dueWallets(db(env), Date.now());
  await Promise.all(due.map(({ network, vkey }) => wakeWallet(env, network, vkey, requestId)));
}
