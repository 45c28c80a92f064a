import { type Block, type Provider, ProviderError } from "../chain/provider.ts";
import { type Database, type Statement, statement } from "../db/client.ts";

/** The provider does not show what it showed before: it lags, so we wait. Never a reason to undo. */
export class ProviderBehind extends ProviderError {
  override name = "ProviderBehind";
}

/** A block that a committed page ended in, and the transaction it ended with. */
export interface Checkpoint {
  height: number;
  block_hash: string;
  tx_index: number;
  tx_hash: string;
}

/** The ledger's security parameter: nothing deeper is ever rolled back. */
const DEEPEST_ROLLBACK = 2160;

/**
 * The newest block that a committed page ended in and that the chain still has. A block hash
 * commits to all blocks before it, so everything up to there stands. Only a different hash at its
 * height is a rollback.
 *
 * @returns whether the newest of all stands, and the newest that does (null: none, or none yet)
 * @throws ProviderBehind when the provider does not reach a checkpoint; ProviderError when it serves
 *   another chain than before
 */
export async function standingCheckpoint(
  db: Database,
  provider: Provider,
  sourceId: string,
  tip: Block,
): Promise<{ rolledBack: boolean; standing: Checkpoint | null }> {
  const checkpoints = await db.all<Checkpoint>(
    `SELECT height, block_hash, tx_index, tx_hash FROM checkpoint
     WHERE source_id = ? ORDER BY height DESC`,
    sourceId,
  );
  for (const checkpoint of checkpoints) {
    if (tip.height < checkpoint.height)
      throw new ProviderBehind(`provider: its tip is behind block ${checkpoint.height}`);
    const block = checkpoint.height === tip.height ? tip : await provider.block(checkpoint.height);
    if (block === null)
      throw new ProviderBehind(`provider: does not have block ${checkpoint.height}`);
    if (block.hash === checkpoint.block_hash)
      return { rolledBack: checkpoint !== checkpoints[0], standing: checkpoint };
  }
  const oldest = checkpoints.at(-1);
  if (oldest && tip.height - oldest.height > DEEPEST_ROLLBACK)
    throw new ProviderError("provider: serves another chain than before", { permanent: true });
  return { rolledBack: oldest !== undefined, standing: null };
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

/** Forgets the blocks above a height, which the chain no longer has. */
export function forgetCheckpoints(sourceId: string, above: number): Statement {
  return statement("DELETE FROM checkpoint WHERE source_id = ? AND height > ?", sourceId, above);
}
