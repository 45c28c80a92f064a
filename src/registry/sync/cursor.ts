import type { Network } from "../../chain/network.ts";
import { type Database, type Statement, statement } from "../../db/client.ts";
import type { Cursor, FollowerTables } from "../../indexer/cursor.ts";
import { LISTING_PAGE_SIZE } from "../../indexer/list-pending.ts";

/** What sync needs to know of a registry source. */
export interface FollowedSource {
  id: string;
  network: Network;
  /** Hex. */
  policyId: string;
  url: string | null;
}

/**
 * The position of a mint or burn: block height, index in the block, hash, and redeemer index. The
 * redeemer index counts from 0 among all the redeemers of the policy as they were listed last.
 */
export type MintPosition = readonly [
  height: number,
  txIndex: number,
  txHash: string,
  ordinal: number,
];

export const REGISTRY_TABLES: FollowerTables = {
  cursor: "registry_cursor",
  revision: "registry_entry.revision",
  hasLease: false,
  steps: { table: "registry_step", blockTime: "NULL" },
};

/** The row of `registry_cursor`, parsed. */
export interface RegistryCursor extends Cursor<MintPosition> {
  network: Network;
}

/** The cursor of a new source, for the batch that creates the source. */
export function insertCursor(source: { id: string; network: Network }): Statement {
  return statement(
    `INSERT INTO registry_cursor (source_id, network, version, recent) VALUES (?, ?, 0, '[]')`,
    source.id,
    source.network,
  );
}

/** Ends the sync of a removed source, for the batch that removes it: a pass under way aborts. */
export function endCursor(sourceId: string, now: number): Statement {
  return statement(
    `UPDATE registry_cursor SET version = version + 1, removed_at = ?2, last_checked_at = NULL
     WHERE source_id = ?1 AND removed_at IS NULL`,
    sourceId,
    now,
  );
}

/** The cursor of a source that is followed; null when it was removed. */
export async function readCursor(db: Database, sourceId: string): Promise<RegistryCursor | null> {
  const [row] = await db.all<Omit<RegistryCursor, "recent"> & { recent: string }>(
    `SELECT source_id AS sourceId, network, version, recent, tip_hash AS tipHash
     FROM registry_cursor WHERE source_id = ? AND removed_at IS NULL`,
    sourceId,
  );
  return row ? { ...row, recent: JSON.parse(row.recent) as MintPosition[] } : null;
}

/** What operators see of a registry source's sync. */
export interface RegistrySyncStatus {
  latestPage: number;
  latestIdentifier: string | null;
  /** Why the last pass did not complete; null when it did, or before the first. */
  error: string | null;
}

/** The status of sources, by id. */
export async function readSyncStatuses(
  db: Database,
  sourceIds: string[],
): Promise<Map<string, RegistrySyncStatus>> {
  const rows = await db.all<{ id: string; recent: string; error: string | null }>(
    `SELECT source_id AS id, recent, error FROM registry_cursor
     WHERE source_id IN (SELECT value FROM json_each(?))`,
    JSON.stringify(sourceIds),
  );
  return new Map(
    rows.map(({ id, recent, error }) => {
      const [, , hash = null, ordinal = 0] = (JSON.parse(recent) as MintPosition[]).at(-1) ?? [];
      const latestPage = Math.floor(ordinal / LISTING_PAGE_SIZE) + 1;
      return [id, { latestPage, latestIdentifier: hash, error }];
    }),
  );
}
