import type { Network } from "../chain/network.ts";
import { type Database, type Statement, statement } from "../db/client.ts";

/** What sync needs to know of a registry source. */
export interface FollowedSource {
  id: string;
  network: Network;
  /** Hex. */
  policyId: string;
  url: string | null;
}

/**
 * Where a mint or burn stands: block height, index in the block, hash, and its place among all the
 * redeemers of the policy, counted from 0.
 */
export type MintPosition = [height: number, txIndex: number, txHash: string, ordinal: number];

/** The row of `registry_cursor`, parsed. */
export interface RegistryCursor {
  sourceId: string;
  network: Network;
  version: number;
  /** See `tables.ts`; whatever lies before its first item was done long ago. */
  recent: MintPosition[];
  tipHash: string | null;
}

/** Redeemers per page of the provider's listing. */
export const PAGE = 100;
/** Blocks that a listing overlaps what was done before. */
const OVERLAP_BLOCKS = 20;

/** The cursor of a new source, for the batch that creates the source. */
export function initialCursor(source: { id: string; network: Network }): Statement {
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
  const [row] = await db.all<{
    network: Network;
    version: number;
    recent: string;
    tip_hash: string | null;
  }>(
    `SELECT network, version, recent, tip_hash FROM registry_cursor
     WHERE source_id = ? AND removed_at IS NULL`,
    sourceId,
  );
  if (!row) return null;
  return {
    sourceId,
    network: row.network,
    version: row.version,
    recent: JSON.parse(row.recent) as MintPosition[],
    tipHash: row.tip_hash,
  };
}

/** `latestPage` and `latestIdentifier` of sources, by id. */
export async function syncPositions(
  db: Database,
  sourceIds: string[],
): Promise<Map<string, { latestPage: number; latestIdentifier: string | null }>> {
  const rows = await db.all<{ id: string; recent: string }>(
    `SELECT source_id AS id, recent FROM registry_cursor
     WHERE source_id IN (SELECT value FROM json_each(?))`,
    JSON.stringify(sourceIds),
  );
  return new Map(
    rows.map(({ id, recent }) => {
      const [, , hash = null, ordinal = 0] = (JSON.parse(recent) as MintPosition[]).at(-1) ?? [];
      return [id, { latestPage: Math.floor(ordinal / PAGE) + 1, latestIdentifier: hash }];
    }),
  );
}

/** Those done in the last blocks, in chain order, and the one before them. */
export function mergeRecent(recent: MintPosition[], done: MintPosition[]): MintPosition[] {
  const merged = [...new Map([...recent, ...done].map((one) => [one[2], one])).values()].sort(
    (a, b) => a[3] - b[3],
  );
  const newest = merged.at(-1)?.[0] ?? 0;
  const firstKept = merged.findIndex(([height]) => height >= newest - OVERLAP_BLOCKS);
  return merged.slice(Math.max(firstKept - 1, 0));
}

/**
 * What stands of the positions up to a block. When none does, the policy is read from its start:
 * what is known already is recognised and skipped.
 */
export function recentUpTo(recent: MintPosition[], height: number): MintPosition[] {
  return recent.filter(([at]) => at <= height);
}
