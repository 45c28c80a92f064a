import { type Block, ProviderError, type TransactionPosition } from "../chain/provider/provider.ts";
import { log } from "../log.ts";
import {
  type Checkpoint,
  findCanonicalCheckpoint,
  requireCanonicalBlock,
  resetCheckpoints,
  writeCheckpoint,
} from "./checkpoints.ts";
import { completePass, renewLease, StaleRecordError } from "./cursor.ts";
import {
  type Fork,
  findFork,
  listAppliedTransactionsAbove,
  type PositionedTransaction,
} from "./find-fork.ts";
import type { Follower } from "./follower.ts";
import { LISTING_PAGE_SIZE } from "./list-pending.ts";
import {
  isAfter,
  mergeRecentPositions,
  type Position,
  truncateRecentPositions,
} from "./position.ts";

/**
 * Runs one pass. It undoes what was rolled back, then applies the new transactions in order, one batch
 * after another, until none are left or `deadline` passes. A pass may stop anywhere and run again. A
 * batch moves the cursor with all it writes, or does nothing.
 *
 * @param deadline - epoch milliseconds after which no further batch is begun, and the one under way
 *   takes in no more
 * @returns whether there is more to do
 * @throws ProviderError, ProviderBehindError, StaleCursorError, DatabaseUnavailableError: nothing is lost by any
 */
export async function runPass<P extends Position, Listed, Read, Changes>(
  follower: Follower<P, Listed, Read, Changes>,
  tip: Block,
  deadline: number,
): Promise<boolean> {
  const { db, tables, cursor } = follower;
  if (tip.hash !== cursor.tipHash) {
    // A block on the tip up to which all was done: what stood there stands.
    if (tip.previousHash !== cursor.tipHash) await undoReorgedTransactions(follower, tip);
    for (let ended: PassOutcome = "applied"; ended === "applied"; ) {
      const pending = await follower.list(cursor.recent, tip);
      if (pending.length === 0) break;
      ended = await applyPendingTransactions(follower, tip, pending, deadline);
      if (ended === "late") return true;
      // A listing that was not cut has all up to the tip.
      if (pending.length < LISTING_PAGE_SIZE) break;
    }
  }
  await completePass(db, tables, cursor, tip, follower.now(), follower.recordTip(tip));
  return false;
}

/** All was applied, the rest lacks confirmations (which only another tip brings), or time is over. */
type PassOutcome = "applied" | "unconfirmed" | "late";

/** Applies transactions that were listed, in order. */
export async function applyPendingTransactions<P extends Position, Listed, Read, Changes>(
  follower: Follower<P, Listed, Read, Changes>,
  tip: Block,
  listed: Listed[],
  deadline: number,
): Promise<PassOutcome> {
  const { db, tables, cursor, maxReads } = follower;
  for (let rest = listed; rest.length > 0; ) {
    const begun = follower.now();
    await renewLease(db, tables, cursor, begun, follower.recordTip(tip));
    // The other half of the time is for applying what was read.
    const until = begun + (deadline - begun) / 2;
    let reads = await readInOrder(follower, rest.slice(0, maxReads), tip, until);
    if (reads.length === 0) return "unconfirmed";
    rest = rest.slice(reads.length);
    while (reads.length > 0) {
      reads = await applyBatch(follower, tip, reads, deadline);
      await follower.onCommit();
      if (follower.now() >= deadline) return "late";
    }
  }
  return "applied";
}

/** Batches that lose a record to another writer before the pass is left to its next alarm. */
const MAX_ATTEMPTS = 5;

/**
 * Applies as many of the transactions as fit one batch and the time until `deadline`, but at least one.
 * It commits them, and returns the others. When a batch loses a record to another writer, the same
 * reads are folded again. The chain is the same, so the provider is not asked again.
 *
 * @param deadline - epoch milliseconds
 * @throws ProviderError, ProviderBehindError, StaleCursorError, StaleRecordError, DatabaseUnavailableError
 */
async function applyBatch<P extends Position, Read, Changes>(
  follower: Follower<P, unknown, Read, Changes>,
  tip: Block,
  reads: Read[],
  deadline: number,
): Promise<Read[]> {
  const { provider, cursor } = follower;
  const blocks = new Map<Read, TransactionPosition>();
  for (let attempt = 1; ; attempt++) {
    const { changes, done } = await foldReads(follower, tip, reads, deadline);
    const last = done.at(-1);
    if (last === undefined) return [];
    const block = blocks.get(last) ?? (await follower.blockOf(last));
    if (!blocks.has(last)) await requireCanonicalBlock(provider, block, tip);
    blocks.set(last, block);
    const recent = mergeRecentPositions(cursor.recent, done.map(follower.positionOf));
    try {
      await follower.commit(changes, recent, writeCheckpoint(cursor.sourceId, block, tip), done);
      return reads.slice(done.length);
    } catch (error) {
      if (!(error instanceof StaleRecordError) || attempt === MAX_ATTEMPTS) throw error;
    }
  }
}

/** What the first of the transactions do to the records as they are now. */
async function foldReads<P extends Position, Read, Changes>(
  follower: Follower<P, unknown, Read, Changes>,
  tip: Block,
  reads: Read[],
  deadline: number,
): Promise<{ changes: Changes; done: Read[] }> {
  const changes = await follower.load(reads, tip);
  const done: Read[] = [];
  for (const read of reads) {
    if (!(await follower.apply(changes, read, done.length === 0 ? null : deadline))) break;
    done.push(read);
    if (follower.isFull(changes) || follower.now() >= deadline) break;
  }
  return { changes, done };
}

/**
 * Reads transactions in order, as far as they have their confirmations. The first few are read in
 * any case, and then as many as there is time for. If a transaction cannot be read, the earlier
 * ones are returned. If the first one cannot be read, its error is thrown.
 *
 * @param until - epoch milliseconds after which no further transactions are begun
 * @throws ProviderError when the provider lists them out of order
 */
async function readInOrder<P extends Position, Listed, Read>(
  follower: Pick<
    Follower<P, Listed, Read, unknown>,
    "read" | "positionOf" | "parallelReads" | "threshold" | "now"
  >,
  listed: Listed[],
  tip: Block,
  until: number,
): Promise<Read[]> {
  const { parallelReads, threshold, now } = follower;
  const newest = tip.height - threshold + 1;
  const good: Read[] = [];
  let last: P | null = null;
  for (let i = 0; i < listed.length && (i === 0 || now() < until); i += parallelReads) {
    const slice = listed.slice(i, i + parallelReads);
    for (const result of await Promise.allSettled(slice.map((row) => follower.read(row)))) {
      if (result.status === "rejected") {
        if (good.length === 0) throw result.reason;
        return good;
      }
      const position = follower.positionOf(result.value);
      if (position[0] > newest) return good;
      if (!isAfter(position, last))
        throw new ProviderError("provider: the listing is not in ascending order");
      last = position;
      good.push(result.value);
    }
  }
  return good;
}

/** Steps read to be compared with the chain: more than are compared, so that no block is cut. */
const MAX_STEPS = 1000;

/**
 * Undoes transactions of blocks that the chain no longer has, newest first.
 *
 * @throws ProviderBehindError when the provider lags behind the newest checkpoint, or the chain moved
 */
async function undoReorgedTransactions<P extends Position, Changes>(
  follower: Follower<P, unknown, unknown, Changes>,
  tip: Block,
): Promise<void> {
  const { db, provider, cursor } = follower;
  const { sourceId } = cursor;
  const { lost, standing } = await findCanonicalCheckpoint(db, provider, sourceId, tip);
  if (lost === null) return;
  await follower.confirmRollback?.(lost, tip);
  const height = standing?.height ?? -1;
  const fork = await findFork(
    provider,
    tip,
    standing,
    listAppliedTransactionsAbove(height, await listStepsAbove(follower, height), cursor.recent),
    follower.listAbove(standing),
  );
  log("warn", follower.rollbackEvent, {
    source: sourceId,
    tip: tip.height,
    to: fork.height,
    kept: fork.canonicalTransactions.length,
  });
  const recent = rewindRecentPositions(follower, standing, fork);
  for (let isLast = false; !isLast; ) {
    const undone = await follower.undo(fork.height, tip);
    isLast = undone.isLast;
    // The cursor goes back with the first batch, so that what it undid is read again should the lost
    // blocks return before the rest. The checkpoints go with the last: until then they keep failing.
    const checkpoints = isLast ? resetCheckpoints(sourceId, standing, fork.checkpoint, tip) : [];
    await follower.commit(undone.changes, recent, [...undone.statements, ...checkpoints], []);
    await follower.onCommit();
  }
}

/** What was applied above a height and changed records, in chain order. */
async function listStepsAbove(
  {
    db,
    tables: { steps },
    cursor,
  }: Pick<Follower<Position, unknown, unknown, unknown>, "db" | "tables" | "cursor">,
  above: number,
): Promise<PositionedTransaction[]> {
  const rows = await db.all<{ height: number; index: number; hash: string; time: number | null }>(
    `SELECT DISTINCT block_height AS height, tx_index AS "index", tx_hash AS hash,
       ${steps.blockTime} AS time
     FROM ${steps.table} WHERE source_id = ? AND block_height > ?
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
function rewindRecentPositions<P extends Position>(
  { cursor, positionAt }: Pick<Follower<P, unknown, unknown, unknown>, "cursor" | "positionAt">,
  standing: Checkpoint | null,
  fork: Fork<P>,
): P[] {
  const left = fork.canonicalTransactions.map(({ position }) => position);
  const shared: Position | null =
    left.at(-1) ?? (standing && [standing.height, standing.tx_index, standing.tx_hash]);
  // A cursor that was moved back stands before it, and has not read again what lies between.
  if (shared !== null && isAfter(shared, cursor.recent.at(-1) ?? null)) return cursor.recent;
  const kept = mergeRecentPositions(truncateRecentPositions(cursor.recent, shared), left);
  const begin = standing && positionAt(standing);
  return kept.length === 0 && begin !== null ? [begin] : kept;
}
