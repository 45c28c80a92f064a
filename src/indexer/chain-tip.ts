import type { Network } from "../chain/network.ts";
import { type Database, type Statement, statement } from "../db/client.ts";

/*
 * The tip from which `confirmations` are counted: one per network, whichever source saw it. Sources
 * may ask different providers, and some providers are behind. The tip is therefore the highest one
 * that any source saw.
 *
 * After a rollback the chain may be shorter for a while. The pass that detects the rollback, by another
 * block hash at a known height, resets the tip. A rollback that affected none of our transactions is
 * not detected. The old tip then counts until the chain has grown past it.
 */

/** The network's tip; null before the first. */
export async function readTip(
  database: Pick<Database, "all">,
  network: Network,
): Promise<number | null> {
  const [row] = await database.all<{ height: number }>(
    "SELECT height FROM chain_tip WHERE network = ?",
    network,
  );
  return row?.height ?? null;
}

/** Raises the network's tip to one that was seen, if that is higher. */
export function raiseTip(network: Network, height: number): Statement {
  return statement(
    `INSERT INTO chain_tip (network, height) VALUES (?, ?)
     ON CONFLICT (network) DO UPDATE SET height = excluded.height
     WHERE chain_tip.height < excluded.height`,
    network,
    height,
  );
}

/** Sets the network's tip after a rollback, also to a lower one. */
export function resetTip(network: Network, height: number): Statement {
  return statement(
    `INSERT INTO chain_tip (network, height) VALUES (?, ?)
     ON CONFLICT (network) DO UPDATE SET height = excluded.height`,
    network,
    height,
  );
}
