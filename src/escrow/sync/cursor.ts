import type { Network } from "../../chain/network.ts";
import type { Database } from "../../db/client.ts";
import type { Cursor, FollowerTables } from "../../indexer/cursor.ts";
import type { Position } from "../../indexer/position.ts";
import type { Backfill } from "../../sources/cursor.ts";

export const ESCROW_TABLES: FollowerTables = {
  cursor: "source_cursor",
  revision: "escrow.revision",
  hasLease: true,
  steps: { table: "escrow_undo", blockTime: "block_time" },
};

/** The row of `source_cursor`, parsed. */
export interface EscrowCursor extends Cursor {
  network: Network;
  /** Whether every transaction of the contract up to the cursor was read. */
  isComplete: boolean;
  /** The past of wallets that were added later; absent when all of it was read. */
  backfill?: Backfill;
}

/** Where a source's sync stands; null when there is no such source. */
export async function readCursor(db: Database, sourceId: string): Promise<EscrowCursor | null> {
  const [row] = await db.all<{
    network: Network;
    version: number;
    recent: string;
    complete: number;
    tip_hash: string | null;
    backfill: string | null;
  }>(
    `SELECT network, version, recent, complete, tip_hash, backfill
     FROM source_cursor WHERE source_id = ?`,
    sourceId,
  );
  if (!row) return null;
  return {
    sourceId,
    network: row.network,
    version: row.version,
    recent: JSON.parse(row.recent) as Position[],
    isComplete: row.complete === 1,
    tipHash: row.tip_hash,
    ...(row.backfill !== null && { backfill: JSON.parse(row.backfill) as Backfill }),
  };
}
