import type { Block, Provider } from "../chain/provider.ts";
import type { Database } from "../db/client.ts";
import { log } from "../log.ts";
import { forgetCheckpoints, standingCheckpoint } from "../sources/checkpoints.ts";
import { type Cursor, isAfter, type Position } from "../sources/cursor.ts";
import { ChangeSet } from "./changes.ts";
import { type CursorMove, commit, type UndoneTransaction, undoStatements } from "./commit.ts";
import {
  type ChainState,
  ESCROW_COLUMNS,
  type EscrowRow,
  recordOfRow,
  type TransactionRecord,
} from "./record.ts";

/** Transactions undone per batch. */
const CHUNK = 100;

/**
 * Undoes what stood on blocks that the chain no longer has.
 *
 * @throws ProviderBehind when the provider is behind the newest checkpoint
 */
export async function undoRolledBack(
  db: Database,
  provider: Provider,
  cursor: Cursor,
  tip: Block,
  now: number,
  leaseUntil: number,
): Promise<void> {
  const { rolledBack, standing } = await standingCheckpoint(db, provider, cursor.sourceId, tip);
  if (!rolledBack) return;
  const height = standing?.height ?? -1;
  log("warn", "sync.rollback", { source: cursor.sourceId, tip: tip.height, to: height });

  const shared: Position | null = standing
    ? [standing.height, standing.tx_index, standing.tx_hash]
    : null;
  // A cursor that was moved back stands before it, and has not read again what lies between.
  const position = shared !== null && isAfter(shared, cursor.position) ? cursor.position : shared;
  for (let done = false; !done; ) done = await undoChunk(height);

  /** The past of added wallets was undone with the rest. */
  function pastUpTo(): Pick<CursorMove, "backfill"> {
    const { backfill } = cursor;
    if (!backfill?.position || !isAfter(backfill.position, position)) return {};
    return { backfill: { ...backfill, position } };
  }

  /** Newest first, so that each record ends in the state before the oldest step undone. */
  async function undoChunk(above: number): Promise<boolean> {
    const rows = await db.all<EscrowRow & { before: string; fields: string }>(
      `SELECT ${ESCROW_COLUMNS}, before, fields FROM
         (SELECT record_id, before, fields, block_height, tx_index FROM escrow_transaction
          WHERE source_id = ? AND block_height > ? AND status = 'Confirmed'
          ORDER BY block_height DESC, tx_index DESC LIMIT ${CHUNK})
       JOIN escrow ON id = record_id
       ORDER BY block_height DESC, tx_index DESC`,
      cursor.sourceId,
      above,
    );
    const last = rows.length < CHUNK;
    const changes = new ChangeSet([], now, tip.height);
    const undone: UndoneTransaction[] = [];
    for (const row of rows) {
      const record = changes.records.get(row.id)?.record ?? recordOfRow(row);
      changes.change(record, JSON.parse(row.before) as ChainState);
      const transaction = JSON.parse(row.fields) as TransactionRecord;
      undone.push({
        recordId: row.id,
        transaction: { ...transaction, status: "RolledBack", updatedAt: now },
      });
    }
    // The cursor goes back with the first chunk, so that what it undid is read again should the lost
    // blocks return before the rest. The checkpoints go with the last: until then they keep failing.
    const recent = recentUpTo(cursor.recent, position);
    const move = { position, recent, leaseUntil, ...pastUpTo() };
    await commit(db, cursor, changes, move, [
      ...undoStatements(undone),
      ...(last ? [forgetCheckpoints(cursor.sourceId, above)] : []),
    ]);
    return last;
  }
}

function recentUpTo(recent: Position[], position: Position | null): Position[] {
  if (position === null) return [];
  const kept = recent.filter(([height, txIndex]) =>
    height === position[0] ? txIndex <= position[1] : height < position[0],
  );
  return kept.length > 0 ? kept : [position];
}
