import type { Network } from "../chain/network.ts";
import type { Block, TransactionPosition } from "../chain/provider/provider.ts";
import { type Database, type Statement, statement } from "../db/client.ts";
import { type Env, getDurableObject } from "../env.ts";
import type { Position } from "../indexer/position.ts";

/** The past of wallets, read beside what is new until it has come as far. */
export interface Backfill {
  /** `toWalletRoleKey` of the wallets. What is new of theirs waits for the past, so that it is in order. */
  wallets: string[];
  /** The last transaction done; null before the contract's first. */
  position: Position | null;
}

/** What a wallet is to a source: its role and its payment key hash. */
export function toWalletRoleKey({ role, vkey }: { role: string; vkey: string }): string {
  return `${role}:${vkey}`;
}

/** What operators see of a source's sync. Times are epoch milliseconds. */
export interface SyncStatus {
  lastCheckedAt: number | null;
  lastIdentifierChecked: string | null;
  syncInProgress: boolean;
  error: string | null;
}

/**
 * The cursor of a new source, for the batch that creates the source.
 *
 * @param after - the transaction to begin after; null for the contract's first
 */
export function insertCursor(
  source: { id: string; network: Network },
  after: TransactionPosition | null,
): Statement[] {
  const start = after && JSON.stringify(toPosition(after));
  return [
    statement(
      `INSERT INTO source_cursor
         (source_id, network, version, position, recent, start, complete, ignored_locks)
       VALUES (?1, ?2, 0, ?3, ?4, ?3, ?5, 0)`,
      source.id,
      source.network,
      start,
      start ? `[${start}]` : "[]",
      start ? 0 : 1,
    ),
    ...insertFirstCheckpoint(source.id, after),
  ];
}

/**
 * Lets sync go on after another transaction of the contract (null: from its first). Nothing is
 * undone, and what was applied before is not applied again. A pass under way loses its batch.
 */
export function moveCursor(sourceId: string, after: TransactionPosition | null): Statement[] {
  if (after === null)
    return [
      statement(
        `UPDATE source_cursor SET version = version + 1, position = NULL, recent = '[]',
           start = NULL, complete = 1, ignored_locks = 0, tip_hash = NULL, backfill = NULL
         WHERE source_id = ?`,
        sourceId,
      ),
    ];
  const position = JSON.stringify(toPosition(after));
  return [
    statement(
      `UPDATE source_cursor SET version = version + 1, position = ?2, recent = ?3, tip_hash = NULL,
         complete = iif(complete = 1 AND position IS NOT NULL AND
           (position->>0, position->>1) >= (?4, ?5), 1, 0)
       WHERE source_id = ?1`,
      sourceId,
      position,
      `[${position}]`,
      after.blockHeight,
      after.txIndex,
    ),
    ...insertFirstCheckpoint(sourceId, after),
  ];
}

/**
 * Lets wallets that are added now get their past, from where the source began. What is new of the
 * other wallets goes on meanwhile; where wallets are waited for already, theirs begins anew with it.
 */
export function startBackfill(
  sourceId: string,
  wallets: Parameters<typeof toWalletRoleKey>[0][],
): Statement {
  return statement(
    `UPDATE source_cursor SET version = version + 1, backfill = json_object(
       'wallets', (SELECT json_group_array(value) FROM (
         SELECT value FROM json_each(source_cursor.backfill, '$.wallets')
         UNION SELECT value FROM json_each(?2))),
       'position', json(ifnull(start, 'null')))
     WHERE source_id = ?1`,
    sourceId,
    JSON.stringify(wallets.map(toWalletRoleKey)),
  );
}

/** The source is followed no more. A pass under way loses its batch. */
export function stopCursor(sourceId: string): Statement {
  return statement(
    `UPDATE source_cursor SET version = version + 1, lease_until = NULL, error = NULL
     WHERE source_id = ?`,
    sourceId,
  );
}

/**
 * Whether each of some sources has followed the chain up to its tip since a time.
 *
 * @param since - epoch milliseconds
 */
export async function areSourcesSynced(
  database: Database,
  sourceIds: string[],
  since: number,
): Promise<boolean> {
  const rows = await database.all(
    `SELECT 1 FROM source_cursor WHERE source_id IN (SELECT value FROM json_each(?))
       AND last_checked_at >= ? AND tip_hash IS NOT NULL AND backfill IS NULL`,
    JSON.stringify(sourceIds),
    since,
  );
  return rows.length === sourceIds.length;
}

/** Sync status per source id; a source without a cursor is left out. */
export async function readSyncStatuses(
  database: Database,
  sourceIds: string[],
  now: number,
): Promise<Map<string, SyncStatus>> {
  const rows = await database.all<{
    id: string;
    lastCheckedAt: number | null;
    tx: string | null;
    leaseUntil: number | null;
    unread: number;
    backfilling: number;
    error: string | null;
  }>(
    `SELECT source_id AS id, last_checked_at AS lastCheckedAt, position->>2 AS tx,
       lease_until AS leaseUntil, tip_hash IS NULL AS unread,
       backfill IS NOT NULL AS backfilling, error
     FROM source_cursor WHERE source_id IN (SELECT value FROM json_each(?))`,
    JSON.stringify(sourceIds),
  );
  return new Map(
    rows.map((row) => [
      row.id,
      {
        lastCheckedAt: row.lastCheckedAt,
        lastIdentifierChecked: row.tx,
        // A cursor that moved since its last complete pass has another coming, lease or not.
        syncInProgress:
          row.backfilling === 1 ||
          (row.leaseUntil ?? 0) > now ||
          (row.unread === 1 && row.error === null),
        error: row.error,
      },
    ]),
  );
}

/** The calls of a payment source's object. */
export interface SourceObject {
  tick(sourceId: string, requestId: string, tip?: Block | null): Promise<void>;
}

/**
 * Asks the source's object for a pass; returns before it runs. The cron asks again every minute.
 *
 * @param tip - of its provider, if that was asked just now
 */
export async function wakeSourceSync(
  env: Pick<Env, "SOURCE_CURSOR" | "OBJECT_LOCATION">,
  sourceId: string,
  requestId: string,
  tip: Block | null = null,
): Promise<void> {
  const object = getDurableObject<SourceObject>(env, env.SOURCE_CURSOR, sourceId);
  await object.tick(sourceId, requestId, tip);
}

function toPosition(at: TransactionPosition): Position {
  return [at.blockHeight, at.txIndex, at.hash];
}

/** Binds the starting point to its block, so that a rollback of it is noticed. */
function insertFirstCheckpoint(sourceId: string, at: TransactionPosition | null): Statement[] {
  if (at === null) return [];
  return [
    statement(
      `INSERT INTO checkpoint (source_id, height, block_hash, tx_index, tx_hash)
       VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
      sourceId,
      at.blockHeight,
      at.blockHash,
      at.txIndex,
      at.hash,
    ),
  ];
}
