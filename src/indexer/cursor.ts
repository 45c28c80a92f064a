import type { Block } from "../chain/provider/provider.ts";
import { type Database, type Statement, statement, violates } from "../db/client.ts";
import type { SqlExpression } from "../db/clock.ts";
import { newId } from "../db/id.ts";
import type { Position } from "./position.ts";

/** Another pass, or an operator, moved the cursor or a record meanwhile: read again, then decide. */
export class StaleCursorError extends Error {
  override name = "StaleCursorError";
}

/** Only a record was changed. What was read from the chain still follows the cursor: fold it anew. */
export class StaleRecordError extends StaleCursorError {
  override name = "StaleRecordError";
}

/** Where a follower keeps what it knows. */
export interface FollowerTables {
  /** Cursors: `source_id`, `version`, `last_op`, `recent`, `tip_hash`, `last_checked_at`, `error`. */
  cursor: string;
  /** The column of the records whose constraint fails when one was changed meanwhile. */
  revision: `${string}.${string}`;
  /** Whether `lease_until` of a cursor tells that a pass is under way. */
  hasLease: boolean;
  /** What transactions did to records: `source_id`, `block_height`, `tx_index`, `tx_hash`. */
  steps: {
    table: string;
    /** Unix seconds, where records show it. */
    blockTime: string;
  };
}

/** The row of a cursor, parsed. */
export interface Cursor<P extends Position = Position> {
  sourceId: string;
  version: number;
  /**
   * Ascending: the transactions done in the last blocks, and the one before them. The last is where
   * the source stands; empty before the first.
   */
  recent: P[];
  /** The tip of the last complete pass; null when the cursor was moved since. */
  tipHash: string | null;
}

/** Where the cursor goes with a batch. */
export interface CursorUpdate<P extends Position> {
  recent: P[];
  /** Further assignments to its row, each preceded by a comma. */
  columns?: SqlExpression;
}

/** How long a pass that stopped answering keeps the source marked as syncing. */
export const LEASE_TTL_MS = 60_000;

/**
 * Writes statements and the cursor in one atomic batch. The cursor's version is the key of the
 * operation, so a repeated or late batch aborts. Then `last_op` tells which of the two it was.
 *
 * @param now - epoch milliseconds
 * @throws StaleCursorError or StaleRecordError when another writer was first; nothing was written
 */
export async function commitCursor<P extends Position>(
  db: Database,
  { cursor: table, revision }: FollowerTables,
  cursor: Cursor<P>,
  { recent, columns }: CursorUpdate<P>,
  statements: Statement[],
  now: number,
): Promise<void> {
  const op = newId(now);
  const move = statement(
    `UPDATE ${table} SET version = iif(version = ?, version + 1, NULL), last_op = ?,
       recent = ?, tip_hash = iif(recent = ?, tip_hash, NULL)${columns?.sql ?? ""}
     WHERE source_id = ?`,
    cursor.version,
    op,
    JSON.stringify(recent),
    JSON.stringify(recent),
    ...(columns?.params ?? []),
    cursor.sourceId,
  );
  try {
    await db.batch([move, ...statements]);
  } catch (error) {
    if (violates(error, revision)) throw new StaleRecordError("a record was changed meanwhile");
    if (!violates(error, `${table}.version`)) throw error;
    const [row] = await db.all<{ last_op: string | null }>(
      `SELECT last_op FROM ${table} WHERE source_id = ?`,
      cursor.sourceId,
    );
    // The answer to our own batch was lost, and it was sent again.
    if (row?.last_op !== op) throw new StaleCursorError("the cursor was moved meanwhile");
  }
  cursor.version++;
  cursor.recent = recent;
}

/** Marks the source as syncing, where its table has a mark for that. */
export async function renewLease(
  db: Database,
  { cursor: table, hasLease }: FollowerTables,
  { sourceId }: Cursor,
  now: number,
  more: Statement[],
): Promise<void> {
  if (!hasLease) return;
  const mark = `UPDATE ${table} SET lease_until = ? WHERE source_id = ?`;
  await db.batch([statement(mark, now + LEASE_TTL_MS, sourceId), ...more]);
}

/**
 * The pass is complete. These columns do not move the version, so they cannot make a batch of another
 * pass stale. When the cursor was moved meanwhile, the pass is not complete. As long as the tip's hash
 * is the same, no further transaction can have its confirmations.
 */
export async function completePass(
  db: Database,
  { cursor: table, hasLease }: FollowerTables,
  { sourceId, version }: Cursor,
  tip: Block,
  now: number,
  more: Statement[],
): Promise<void> {
  await db.batch([
    statement(
      `UPDATE ${table} SET tip_hash = ?, last_checked_at = ?, error = NULL${releaseLeaseSql(hasLease)}
       WHERE source_id = ? AND version = ?`,
      tip.hash,
      now,
      sourceId,
      version,
    ),
    ...more,
  ]);
}

/** Has the next pass list all again, although the tip may be the same. */
export async function forgetTip(
  db: Database,
  { cursor: table }: FollowerTables,
  sourceId: string,
): Promise<void> {
  await db.batch([statement(`UPDATE ${table} SET tip_hash = NULL WHERE source_id = ?`, sourceId)]);
}

/** Records why a pass did not complete, for operators; monitors without a key may see it too. */
export async function recordFailure(
  db: Database,
  { cursor: table, hasLease }: FollowerTables,
  sourceId: string,
  reason: string,
): Promise<void> {
  await db.batch([
    statement(
      `UPDATE ${table} SET error = ?${releaseLeaseSql(hasLease)} WHERE source_id = ?`,
      reason.slice(0, 500),
      sourceId,
    ),
  ]);
}

function releaseLeaseSql(hasLease: boolean): string {
  return hasLease ? ", lease_until = NULL" : "";
}
