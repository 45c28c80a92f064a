import {
  type Block,
  blockHashAt,
  type Provider,
  ProviderError,
  type TransactionPosition,
} from "../chain/provider/provider.ts";
import { type Database, type Statement, statement } from "../db/client.ts";

/** The part of a provider that shows whether the chain is still the one that was read. */
export type BlockProvider = Pick<Provider, "block" | "transaction">;

/** The provider does not show what it showed before: it lags, so we wait. Never a reason to undo. */
export class ProviderBehindError extends ProviderError {
  override name = "ProviderBehindError";
}

/** Providers of one source disagree about a block that is no longer rolled back: a person must decide. */
export class ProviderDisagreementError extends ProviderError {
  override name = "ProviderDisagreementError";
}

/** A block that a committed page ended in, and the transaction it ended with. */
export interface Checkpoint {
  height: number;
  block_hash: string;
  tx_index: number;
  tx_hash: string;
}

/** The ledger's security parameter: nothing deeper is ever rolled back. */
const MAX_ROLLBACK_BLOCKS = 2160;

/**
 * The newest block that a committed page ended in and that the chain still has. A block hash
 * commits to all blocks before it, so everything up to there stands. Only a different hash at its
 * height is a rollback.
 *
 * @returns the newest of all when it does not stand, and the newest that does (null: none yet).
 * @throws ProviderBehindError when the provider does not reach a checkpoint; ProviderError when it serves
 *   another chain than before
 */
export async function findCanonicalCheckpoint(
  db: Database,
  provider: BlockProvider,
  sourceId: string,
  tip: Block,
): Promise<{ lost: Checkpoint | null; standing: Checkpoint | null }> {
  const checkpoints = await db.all<Checkpoint>(
    `SELECT height, block_hash, tx_index, tx_hash FROM checkpoint
     WHERE source_id = ? ORDER BY height DESC`,
    sourceId,
  );
  const newest = checkpoints[0] ?? null;
  for (const checkpoint of checkpoints) {
    if (tip.height < checkpoint.height)
      throw new ProviderBehindError(`provider: its tip is behind block ${checkpoint.height}`);
    const { height } = checkpoint;
    const hash = blockHashAt(tip, height) ?? (await provider.block(height))?.hash;
    if (hash === undefined)
      throw new ProviderBehindError(`provider: does not have block ${height}`);
    if (hash === checkpoint.block_hash)
      return { lost: checkpoint === newest ? null : newest, standing: checkpoint };
  }
  const oldest = checkpoints.at(-1);
  if (oldest && tip.height - oldest.height > MAX_ROLLBACK_BLOCKS)
    throw new ProviderError("provider: serves another chain than before", { permanent: true });
  return { lost: newest, standing: null };
}

/**
 * Binds what was read to the chain: the tip from before the reading is still in place after it.
 * Otherwise what was read may come from two chains.
 *
 * @throws ProviderBehindError when it is not
 */
export async function requireSameChain(provider: BlockProvider, tip: Block): Promise<void> {
  const again = await provider.block(tip.height);
  if (again?.hash !== tip.hash)
    throw new ProviderBehindError(`provider: block ${tip.height} changed while it was read`);
}

/**
 * Binds a run of transactions to the chain. The block of the last transaction is of the tip's chain,
 * and so are all blocks before it. A node that is late shows a transaction where it was before a
 * rollback.
 *
 * @throws ProviderBehindError when it is not
 */
export async function requireCanonicalBlock(
  provider: BlockProvider,
  { blockHeight, blockHash }: Pick<TransactionPosition, "blockHeight" | "blockHash">,
  tip: Block,
): Promise<void> {
  if (blockHashAt(tip, blockHeight) === blockHash) return;
  if ((await provider.block(blockHeight))?.hash !== blockHash)
    throw new ProviderBehindError(`provider: block ${blockHeight} changed while it was read`);
  await requireSameChain(provider, tip);
}

/** Stores the block that a page ended in, and deletes those no rollback can reach. */
export function writeCheckpoint(
  sourceId: string,
  at: Pick<TransactionPosition, "blockHeight" | "blockHash" | "txIndex" | "hash">,
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
      `DELETE FROM checkpoint WHERE source_id = ?1 AND height < ${FINAL_HEIGHT_SQL}`,
      sourceId,
      deepestUndoableHeight(tip),
    ),
  ];
}

/** SQL: the newest block of the source ?1 that no rollback can reach, if ?2 is `deepestUndoableHeight`. */
export const FINAL_HEIGHT_SQL =
  "(SELECT max(height) FROM checkpoint WHERE source_id = ?1 AND height < ?2)";

/** The lowest block that a rollback can undo. */
export const deepestUndoableHeight = (tip: Block) => tip.height - MAX_ROLLBACK_BLOCKS;

/**
 * Deletes the blocks above the newest valid checkpoint, which the chain no longer has. Stores the block
 * above that checkpoint which a rollback left valid.
 */
export function resetCheckpoints(
  sourceId: string,
  standing: Checkpoint | null,
  left: TransactionPosition | null,
  tip: Block,
): Statement[] {
  return [
    statement(
      "DELETE FROM checkpoint WHERE source_id = ? AND height > ?",
      sourceId,
      standing?.height ?? -1,
    ),
    ...(left === null ? [] : writeCheckpoint(sourceId, left, tip)),
  ];
}
