import { NETWORKS, type Network } from "../chain/network.ts";
import { type Database, openDb } from "../db/client.ts";
import type { Env } from "../env.ts";
import { WALLET_FEATURES } from "../wallet-features.ts";
import type { StuckTasks } from "../wallets/spending/feature-queue.ts";
import { MAX_COUNTED_ROWS } from "../wallets/spending/task-queue.ts";

/**
 * A wallet that is blocked for this long does not recover without help. A full line or the end of an
 * epoch passes sooner.
 */
const BLOCKER_MIN_AGE_MS = 5 * 60_000;

/** A wallet that does not do its tasks. */
export interface StuckWallet extends StuckTasks {
  network: Network;
}

/**
 * Lists wallets that do not recover without help: tasks failed repeatedly, funds are short, nobody tries a
 * task, or something blocks the whole wallet. A delay by the provider or the chain counts after an hour.
 *
 * @param deadline - epoch milliseconds, as `now`
 * @throws DatabaseUnavailableError
 */
export async function listStuckWallets(
  env: Pick<Env, "DB">,
  deadline: number,
  now: number,
): Promise<StuckWallet[]> {
  const each = await Promise.all(
    NETWORKS.map(async (network) => {
      const database = openDb(env, network, { deadline });
      const found = await Promise.all([
        ...WALLET_FEATURES.map((feature) => feature.listStuck(database, network, now)),
        listBlockedWallets(database, network, now),
      ]);
      const byWallet = Map.groupBy(found.flat(), ({ vkey, sourceId }) => vkey ?? sourceId ?? "");
      return [...byWallet.values()].flatMap(([first, ...others]) => {
        if (first === undefined) return [];
        const waiting = others.reduce((sum, one) => sum + one.waiting, first.waiting);
        return [{ ...first, network, waiting }];
      });
    }),
  );
  return each.flat();
}

/** There is one row for each wallet. */
function listBlockedWallets(
  database: Database,
  network: Network,
  now: number,
): Promise<StuckTasks[]> {
  return database.all(
    `SELECT vkey, NULL AS sourceId, 0 AS waiting, blocker AS reason FROM hot_wallet
     WHERE network = ? AND blocked_since <= ? AND blocker_code <> 'provider'
     LIMIT ${MAX_COUNTED_ROWS}`,
    network,
    now - BLOCKER_MIN_AGE_MS,
  );
}
