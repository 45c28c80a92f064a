import type { Network } from "../../chain/network.ts";
import type { Database } from "../../db/client.ts";
import { findWallet } from "../../wallets/managed/find-wallet.ts";
import type { SourceWallet } from "../../wallets/queue/store.ts";
import { changeRecords } from "./change-records.ts";
import { findNextDueRecord, listUnassignedSources } from "./due-records.ts";

/** What a wallet has to do for escrows next. */
export interface NextEscrowTask {
  sourceId: string;
  /** Epoch milliseconds. */
  dueAt: number;
}

/** The escrow that waits longest for a wallet, or for any purchasing wallet of its source. */
export async function findNextEscrowTask(
  database: Database,
  core: Database,
  network: Network,
  vkey: string,
): Promise<NextEscrowTask | null> {
  const now = Date.now();
  const [own, unassigned, buyer] = await Promise.all([
    findNextDueRecord(database, network, vkey),
    listUnassignedSources(database, network, now),
    findWallet(core, network, vkey, "Purchasing"),
  ]);
  if (own && own.dueAt <= now) return own;
  const sourceId = unassigned.find((id) => id === buyer?.sourceId);
  return sourceId === undefined ? (own ?? null) : { sourceId, dueAt: now };
}

/** Records that are told together. */
const BATCH_SIZE = 100;

/**
 * Has a wallet do nothing more for the escrows of a payment source that was removed: there is no provider
 * left to ask. What was sent before may still land.
 *
 * @param now - epoch milliseconds
 * @throws StaleWalletError
 */
export async function endEscrowsWithoutSource(
  database: Database,
  { network, vkey, sourceId }: SourceWallet,
  now: number,
): Promise<void> {
  const rows = await database.all<{ id: string }>(
    `SELECT id FROM escrow WHERE network = ?1 AND source_id = ?3 AND due_at IS NOT NULL
       AND (wallet_vkey = ?2 OR wallet_vkey IS NULL) LIMIT ${BATCH_SIZE}`,
    network,
    vkey,
    sourceId,
  );
  const ids = rows.map(({ id }) => id);
  await changeRecords(database, network, ids, now, () => ({ isWalletRemoved: true }));
}
