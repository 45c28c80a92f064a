import type { Network } from "../../chain/network.ts";
import { type Database, openDb } from "../../db/client.ts";
import { type Env, getDurableObject } from "../../env.ts";
import { log } from "../../log.ts";
import { wakeObjects } from "../../wake-objects.ts";
import { createDueWalletFinder, type DueWalletFinder } from "./due-wallets.ts";

type WalletEnv = Pick<Env, "HOT_WALLET" | "OBJECT_LOCATION">;

/** The calls of a wallet's object. */
export interface WalletObject {
  wake(network: Network, vkey: string, requestId: string): Promise<void>;
}

/**
 * Wakes a wallet's object. The key names the object, so one object uses a key even if the wallet is
 * removed and added again. If the object cannot be woken, the cron wakes it.
 *
 * @param vkey - payment key hash, hex
 */
export async function wakeWallet(
  env: WalletEnv,
  network: Network,
  vkey: string,
  requestId: string,
): Promise<void> {
  try {
    const object = getDurableObject<WalletObject>(env, env.HOT_WALLET, `${network}:${vkey}`);
    await object.wake(network, vkey, requestId);
  } catch (error) {
    logFailedWake(vkey, requestId, error);
  }
}

function logFailedWake(vkey: string, requestId: string, error: unknown): void {
  log("warn", "wallet.wake_failed", { wallet: vkey, requestId, error: String(error) });
}

/** Those with a transaction that has to be looked at. */
const findWalletsToPoll = createDueWalletFinder("wallet_transaction");

/** Wakes every wallet that has something to do. For the cron. */
export function wakeDueWallets(
  env: WalletEnv & { DB: D1Database },
  features: readonly DueWalletFinder[],
  requestId: string,
): Promise<void> {
  return wakeWalletsOfFeatures(env, openDb(env), [findWalletsToPoll, ...features], requestId);
}

/** Wakes every wallet for which one of some features has work. */
export async function wakeWalletsOfFeatures(
  env: WalletEnv,
  database: Database,
  features: readonly DueWalletFinder[],
  requestId: string,
): Promise<void> {
  const now = Date.now();
  const due = await Promise.all(features.map((walletsOf) => walletsOf(database, now)));
  const wallets = new Map(due.flat().map((one) => [`${one.network}:${one.vkey}`, one]));
  await wakeObjects(
    wallets.values(),
    ({ network, vkey }) => wakeWallet(env, network, vkey, requestId),
    ({ vkey }, error) => logFailedWake(vkey, requestId, error),
  );
}
