import { type Block, type Provider, ProviderError } from "../chain/provider.ts";
import { type Database, type Statement, statement } from "../db/client.ts";
import { log } from "../log.ts";
import type { Cursor, Position } from "../sources/cursor.ts";
import { ChangeSet } from "./changes.ts";
import { commit, type UndoneTransaction, undoStatements } from "./commit.ts";
import { ProviderLags } from "./listing.ts";
import {
  type ChainState,
  ESCROW_COLUMNS,
  type EscrowRow,
  recordOfRow,
  type TransactionRecord,
} from "./record.ts";

/** A block that a committed page ended in, and the transaction it ended with. */
interface Checkpoint {
  height: number;
  block_hash: string;
  tx_index: number;
  tx_hash: string;
}

/** The ledger's security parameter: nothing deeper is ever rolled back. */
const DEEPEST_ROLLBACK = 2160;
/** Transactions undone per batch. */
const CHUNK = 100;

/**
 * Undoes what stood on blocks that the chain no longer has. A block hash commits to all blocks
 * before it, so as long as the newest checkpoint's block stands, everything done stands. Only a
 * different hash at its height is a rollback; a provider that does not have the height yet lags.
 *
 * @throws ProviderLags when the provider is behind the newest checkpoint
 */
export async function undoRolledBack(
  db: Database,
  provider: Provider,
  cursor: Cursor,
  tip: Block,
  now: number,
  leaseUntil: number,
): Promise<void> {
  const checkpoints = await db.all<Checkpoint>(
    `SELECT height, block_hash, tx_index, tx_hash FROM checkpoint
     WHERE source_id = ? ORDER BY height DESC`,
    cursor.sourceId,
  );
  const standing = await newestStanding(provider, checkpoints, tip);
  if (standing === checkpoints[0]) return;

  const oldest = checkpoints.at(-1);
  if (standing === undefined && oldest && tip.height - oldest.height > DEEPEST_ROLLBACK)
    throw new ProviderError("provider: serves another chain than before", { permanent: true });
  const height = standing?.height ?? -1;
  log("warn", "sync.rollback", { source: cursor.sourceId, tip: tip.height, to: height });

  const position: Position | null = standing
    ? [standing.height, standing.tx_index, standing.tx_hash]
    : null;
  for (let done = false; !done; ) done = await undoChunk(height);

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
    // The cursor goes back with the last chunk; until then the newest checkpoint keeps failing.
    const move = last
      ? { position, recent: recentUpTo(cursor.recent, position), leaseUntil }
      : { position: cursor.position, recent: cursor.recent, leaseUntil };
    await commit(db, cursor, changes, move, [
      ...undoStatements(undone),
      ...(last ? [forgetCheckpoints(cursor.sourceId, above)] : []),
    ]);
    return last;
  }
}

/** Remembers the block that a page ended in, and forgets those no rollback can reach. */
export function writeCheckpoint(
  sourceId: string,
  at: { blockHeight: number; blockHash: string; txIndex: number; hash: string },
  tip: Block,
): Statement[] {
  return [
    statement(
      `INSERT INTO checkpoint (source_id, height, block_hash, tx_index, tx_hash)
       VALUES (?, ?, ?, ?, ?) ON CONFLICT (source_id, height) DO UPDATE SET
         block_hash = excluded.block_hash, tx_index = excluded.tx_index, tx_hash = excluded.tx_hash`,
      sourceId,
      at.blockHeight,
      at.blockHash,
      at.txIndex,
      at.hash,
    ),
    // The newest of the unreachable ones stays: it is what a deep rollback would go back to.
    statement(
      `DELETE FROM checkpoint WHERE source_id = ?1 AND height <
         (SELECT max(height) FROM checkpoint WHERE source_id = ?1 AND height < ?2)`,
      sourceId,
      tip.height - DEEPEST_ROLLBACK,
    ),
  ];
}

async function newestStanding(
  provider: Provider,
  checkpoints: Checkpoint[],
  tip: Block,
): Promise<Checkpoint | undefined> {
  for (const checkpoint of checkpoints) {
    if (tip.height < checkpoint.height)
      throw new ProviderLags(
        `provider: its tip ${tip.height} is behind block ${checkpoint.height}`,
      );
    const block = checkpoint.height === tip.height ? tip : await provider.block(checkpoint.height);
    if (block === null)
      throw new ProviderLags(`provider: does not have block ${checkpoint.height}`);
    if (block.hash === checkpoint.block_hash) return checkpoint;
  }
  return undefined;
}

function forgetCheckpoints(sourceId: string, above: number): Statement {
  return statement("DELETE FROM checkpoint WHERE source_id = ? AND height > ?", sourceId, above);
}

function recentUpTo(recent: Position[], position: Position | null): Position[] {
  if (position === null) return [];
  const kept = recent.filter(([height, txIndex]) =>
    height === position[0] ? txIndex <= position[1] : height < position[0],
  );
  return kept.length > 0 ? kept : [position];
}
