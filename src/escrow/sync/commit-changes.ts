import type { Network } from "../../chain/network.ts";
import { type Database, type Statement, statement, violates } from "../../db/client.ts";
import { commitCursor, StaleRecordError } from "../../indexer/cursor.ts";
import type { Position } from "../../indexer/position.ts";
import type { Backfill } from "../../sources/cursor.ts";
import { insertChangeIfWalletsRemoved } from "../../wallets/managed/wallet-changes.ts";
import { MISMATCH_STATUS, type TransactionRecord } from "../model/transaction-record.ts";
import type { ChangeSet } from "../store/change-set.ts";
import { writeChanges } from "../store/write-changes.ts";
import { ESCROW_TABLES, type EscrowCursor } from "./cursor.ts";

/** Where the cursor goes with a batch. */
export interface CursorUpdate {
  recent: Position[];
  /** Epoch milliseconds until which this pass holds the source; null: no longer. */
  leaseUntil: number | null;
  /** How far the past of added wallets was read; null: all of it. Left out: as far as before. */
  backfill?: Backfill | null;
}

/** A transaction that was rolled back, as it is shown from now on. */
export interface UndoneTransaction {
  recordId: string;
  transaction: TransactionRecord;
}

/**
 * Writes the changes of a run of transactions, the cursor and the events in one batch. See `commitCursor` in
 * `indexer/cursor.ts`.
 *
 * @throws StaleCursorError, StaleRecordError: another writer was first, and nothing was written
 */
export async function commitChanges(
  db: Database,
  cursor: EscrowCursor,
  changes: ChangeSet,
  { recent, leaseUntil, backfill = cursor.backfill ?? null }: CursorUpdate,
  more: Statement[] = [],
): Promise<void> {
  const end = recent.at(-1);
  const columns = {
    sql: ", position = ?, lease_until = ?, ignored_locks = ignored_locks + ?, backfill = ?",
    params: [
      end === undefined ? null : JSON.stringify(end),
      leaseUntil,
      changes.ignoredLocks,
      backfill && JSON.stringify(backfill),
    ],
  };
  const statements = [
    ...writeChanges(changes, cursor),
    ...markIfWalletRemoved(changes, cursor),
    ...more,
  ];
  try {
    await commitCursor(db, ESCROW_TABLES, cursor, { recent, columns }, statements, changes.now);
  } catch (error) {
    if (violates(error, "escrow_identity.identifier_hash"))
      throw new StaleRecordError("a record was made, or moved, meanwhile");
    throw error;
  }
  if (backfill === null) delete cursor.backfill;
  else cursor.backfill = backfill;
}

/**
 * Writes changes that no transaction made.
 *
 * @returns whether they were written; false: a record was changed meanwhile
 */
export async function writeOwnChanges(
  db: Pick<Database, "batch">,
  changes: ChangeSet,
  source: { sourceId: string; network: Network },
): Promise<boolean> {
  try {
    await db.batch(writeChanges(changes, source));
    return true;
  } catch (error) {
    if (violates(error, "escrow.revision")) return false;
    throw error;
  }
}

/** Marks new records whose wallet was removed during the pass that read it. */
function markIfWalletRemoved(changes: ChangeSet, { sourceId }: EscrowCursor): Statement[] {
  const newRecords = [...changes.records.values()].filter(({ record }) => record.revision < 0);
  const vkeys = new Set(newRecords.flatMap(({ record }) => record.wallet?.vkey ?? []));
  return vkeys.size === 0 ? [] : [insertChangeIfWalletsRemoved(sourceId, [...vkeys], changes.now)];
}

/**
 * Marks transactions as rolled back, and deletes the action history they made. Of those that were passed over
 * nothing is left.
 */
export function buildUndoStatements(sourceId: string, undone: UndoneTransaction[]): Statement[] {
  const rows = undone.map(({ recordId, transaction }) => ({
    recordId,
    txHash: transaction.txHash,
    blockHeight: transaction.blockHeight,
    updatedAt: transaction.updatedAt,
  }));
  const json = JSON.stringify(rows);
  return [
    statement(
      `DELETE FROM escrow_undo WHERE source_id = ? AND (block_height, record_id, tx_hash) IN
         (SELECT value->>'blockHeight', value->>'recordId', value->>'txHash' FROM json_each(?))`,
      sourceId,
      json,
    ),
    statement(
      `DELETE FROM escrow_transaction WHERE status = '${MISMATCH_STATUS}' AND (record_id, tx_hash) IN
         (SELECT value->>'recordId', value->>'txHash' FROM json_each(?))`,
      json,
    ),
    statement(
      `UPDATE escrow_transaction SET status = 'RolledBack', updated_at = item.value->>'updatedAt'
       FROM json_each(?) AS item
       WHERE record_id = item.value->>'recordId' AND tx_hash = item.value->>'txHash'`,
      json,
    ),
    statement(
      `DELETE FROM escrow_action WHERE (record_id, tx_hash) IN
         (SELECT value->>'recordId', value->>'txHash' FROM json_each(?))`,
      json,
    ),
  ];
}
