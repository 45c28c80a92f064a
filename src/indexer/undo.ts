import type { Block } from "../chain/provider/provider.ts";
import { log } from "../log.ts";
import { type Checkpoint, resetCheckpoints, standingCheckpoint } from "./checkpoints.ts";
import type { Follower } from "./follower.ts";
import { appliedAbove, type Fork, findFork, type PlacedTransaction } from "./fork.ts";
import { isAfter, mergeRecent, type Position, recentUpTo } from "./position.ts";

/** Steps read to be compared with the chain: more than are compared, so that no block is cut. */
const MAX_STEPS = 1000;

/**
 * Undoes what stood on blocks that the chain no longer has, newest first; what stands as it was is
 * not touched.
 *
 * @throws ProviderBehind when the provider is behind the newest checkpoint, or the chain moved while
 *   it was read
 */
export async function undoRolledBack<P extends Position, Changes>(
  follower: Follower<P, unknown, unknown, Changes>,
  tip: Block,
): Promise<void> {
  const { db, provider, cursor } = follower;
  const { sourceId } = cursor;
  const { rolledBack, standing } = await standingCheckpoint(db, provider, sourceId, tip);
  if (!rolledBack) return;
  const height = standing?.height ?? -1;
  const fork = await findFork(
    provider,
    tip,
    standing,
    appliedAbove(height, await stepsAbove(follower, height), cursor.recent),
    follower.listAbove(standing),
  );
  log("warn", follower.rollbackEvent, {
    source: sourceId,
    tip: tip.height,
    to: fork.above,
    kept: fork.standing.length,
  });
  const recent = recentOf(follower, standing, fork);
  for (let isLast = false; !isLast; ) {
    const undone = await follower.undo(fork.above, tip);
    isLast = undone.isLast;
    // The cursor goes back with the first batch, so that what it undid is read again should the lost
    // blocks return before the rest. The checkpoints go with the last: until then they keep failing.
    const checkpoints = isLast ? resetCheckpoints(sourceId, standing, fork.checkpoint, tip) : [];
    await follower.commit(undone.changes, recent, [...undone.statements, ...checkpoints], []);
    await follower.committed();
  }
}

/** What was applied above a height and changed records, in chain order. */
async function stepsAbove(
  {
    db,
    tables: { steps },
    cursor,
  }: Pick<Follower<Position, unknown, unknown, unknown>, "db" | "tables" | "cursor">,
  above: number,
): Promise<PlacedTransaction[]> {
  const rows = await db.all<{ height: number; index: number; hash: string; time: number | null }>(
    `SELECT DISTINCT block_height AS height, tx_index AS "index", tx_hash AS hash,
       ${steps.blockTime} AS time
     FROM ${steps.table} WHERE source_id = ? AND block_height > ? AND ${steps.where}
     ORDER BY block_height, tx_index LIMIT ${MAX_STEPS}`,
    cursor.sourceId,
    above,
  );
  return rows.map(({ height, index, hash, time }) => ({
    position: [height, index, hash],
    ...(time !== null && { blockTime: time }),
  }));
}

/** What is done once all above the fork is undone. */
function recentOf<P extends Position>(
  { cursor, positionAt }: Pick<Follower<P, unknown, unknown, unknown>, "cursor" | "positionAt">,
  standing: Checkpoint | null,
  fork: Fork<P>,
): P[] {
  const left = fork.standing.map(({ position }) => position);
  const shared: Position | null =
    left.at(-1) ?? (standing && [standing.height, standing.tx_index, standing.tx_hash]);
  // A cursor that was moved back stands before it, and has not read again what lies between.
  if (shared !== null && isAfter(shared, cursor.recent.at(-1) ?? null)) return cursor.recent;
  const kept = mergeRecent(recentUpTo(cursor.recent, shared), left);
  const begin = standing && positionAt(standing);
  return kept.length === 0 && begin !== null ? [begin] : kept;
}
