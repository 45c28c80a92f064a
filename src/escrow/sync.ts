import type { AddressTransaction, Block, Provider } from "../chain/provider.ts";
import { type Database, statement } from "../db/client.ts";
import { ProviderBehind, writeCheckpoint } from "../sources/checkpoints.ts";
import { type Backfill, type Cursor, isAfter, type Position } from "../sources/cursor.ts";
import { applyTransaction } from "./apply.ts";
import { ChangeSet } from "./changes.ts";
import { commit } from "./commit.ts";
import { loadKnown } from "./known.ts";
import { listPending, positionOf } from "./listing.ts";
import { readTransactions } from "./read.ts";
import { undoRolledBack } from "./rollback.ts";
import { scopeOf } from "./scope.ts";
import type { EscrowSource, ReadTransaction } from "./source.ts";

/** What a pass works with. */
export interface SyncContext {
  db: Database;
  provider: Provider;
  source: EscrowSource;
  /** Confirmations a transaction needs before it is applied, at least 1. */
  threshold: number;
  /** Epoch milliseconds. */
  now(): number;
  /** Called after each commit, to wake whoever waits for the events. */
  committed(): Promise<void>;
}

/** Blocks that a listing overlaps what was done before. */
const OVERLAP_BLOCKS = 20;
/** A batch ends once it writes this many records or steps: about a megabyte of text. */
const MAX_RECORDS = 80;
const MAX_STEPS = 120;
/** How long a pass that stopped answering keeps the source marked as syncing. */
const LEASE_MS = 60_000;

/**
 * One pass over a source: what the chain took back is undone, then its new transactions are applied
 * in order, one batch after another, until there are none or `deadline` passes; then the past of
 * wallets that were added later. Safe to stop anywhere and to run again: a batch either moved the
 * cursor with all it wrote, or did nothing.
 *
 * @param cursor - read before `context.source` was: a wallet added later makes it stale, so no pass
 *   reads the past without the wallet it reads it for
 * @param deadline - epoch milliseconds after which no further batch is begun
 * @returns whether there is more to do
 * @throws ProviderError, ProviderBehind, StaleCursor, DatabaseUnavailable: nothing is lost by any
 */
export async function syncSource(
  context: SyncContext,
  cursor: Cursor,
  deadline: number,
): Promise<boolean> {
  const { db, provider } = context;
  const tip = await provider.latestBlock();
  if (tip.hash === cursor.tipHash) await finish(context, cursor, tip, tip.hash);
  else {
    await undoRolledBack(db, provider, cursor, tip, context.now(), context.now() + LEASE_MS);
    if (await applyNew(context, cursor, tip, deadline)) return true;
  }
  return cursor.backfill !== undefined && applyPast(context, cursor, tip, deadline);
}

/** @returns whether there is more to do */
async function applyNew(
  context: SyncContext,
  cursor: Cursor,
  tip: Block,
  deadline: number,
): Promise<boolean> {
  const { provider, source, threshold } = context;
  for (;;) {
    const pending = await listPending(provider, source.contractAddress, cursor, tip, threshold);
    if (pending.length === 0) {
      await finish(context, cursor, tip, threshold > 1 ? null : tip.hash);
      return false;
    }
    if (await applyAll(context, cursor, tip, pending, "new", deadline)) return true;
  }
}

/**
 * Reads the past of added wallets up to where the cursor stands. The batch that comes as far hands
 * the wallets over to what is new: nothing of theirs was applied beyond it, and nothing is missing.
 *
 * @returns whether there is more to do
 */
async function applyPast(
  context: SyncContext,
  cursor: Cursor,
  tip: Block,
  deadline: number,
): Promise<boolean> {
  const { db, provider, source, threshold } = context;
  for (let past = cursor.backfill; past; past = cursor.backfill) {
    const { position } = past;
    const { position: end } = cursor;
    if (end === null || (position !== null && !isAfter(end, position))) {
      const changes = new ChangeSet([], context.now(), tip.height);
      const { recent } = cursor;
      await commit(db, cursor, changes, {
        position: end,
        recent,
        leaseUntil: null,
        backfill: null,
      });
      return false;
    }
    const recent = position === null ? [] : [position];
    const listed = await listPending(
      provider,
      source.contractAddress,
      { ...cursor, position, recent },
      tip,
      threshold,
    );
    const pending = listed.filter((row) => !isAfter(positionOf(row), end));
    if (pending.length === 0)
      throw new ProviderBehind(`provider: does not list transaction ${end[2]} any more`);
    if (await applyAll(context, cursor, tip, pending, "past", deadline)) return true;
  }
  return false;
}

/** @returns whether the deadline has passed */
async function applyAll(
  context: SyncContext,
  cursor: Cursor,
  tip: Block,
  pending: AddressTransaction[],
  part: "past" | "new",
  deadline: number,
): Promise<boolean> {
  await holdLease(context);
  let reads = await readTransactions(context.provider, pending);
  while (reads.length > 0) {
    reads = await applyRun(context, cursor, tip, reads, part);
    await context.committed();
    if (context.now() >= deadline) return true;
  }
  return false;
}

/** Applies as many of the transactions as fit one batch, commits them, and returns the others. */
async function applyRun(
  context: SyncContext,
  cursor: Cursor,
  tip: Block,
  reads: ReadTransaction[],
  part: "past" | "new",
): Promise<ReadTransaction[]> {
  const { db, source } = context;
  const scope = scopeOf(source, cursor, part);
  const known = await loadKnown(db, source, reads, cursor.complete);
  const changes = new ChangeSet(known.filter(scope.has), context.now(), tip.height);
  const done: ReadTransaction[] = [];
  for (const read of reads) {
    await applyTransaction(changes, scope.source, read, cursor.complete);
    done.push(read);
    if (changes.records.size >= MAX_RECORDS || changes.transactions.length >= MAX_STEPS) break;
  }
  const last = done.at(-1);
  if (!last) return [];

  const checkpoint = await confirmChain(context.provider, last, tip);
  const leaseUntil = context.now() + LEASE_MS;
  const position = positionOf(last.at);
  if (part === "past") {
    const isDone = cursor.position === null || !isAfter(cursor.position, position);
    const backfill = isDone ? null : { wallets: cursor.backfill?.wallets ?? [], position };
    await commit(db, cursor, changes, {
      position: cursor.position,
      recent: cursor.recent,
      leaseUntil: isDone ? null : leaseUntil,
      backfill,
    });
  } else {
    const positions = done.map(({ at }) => positionOf(at));
    const move = { position, recent: mergeRecent(cursor.recent, positions), leaseUntil };
    await commit(db, cursor, changes, move, writeCheckpoint(source.id, checkpoint, tip));
  }
  return reads.slice(done.length);
}

/**
 * Binds the run to the chain it was read from: its last transaction to a block, and the tip from
 * before the reading still in place after it. Otherwise what was read may come from two chains.
 */
async function confirmChain(provider: Provider, { at }: ReadTransaction, tip: Block) {
  const found = await provider.transaction(at.txHash);
  if (found?.blockHeight !== at.blockHeight || found.txIndex !== at.txIndex)
    throw new ProviderBehind(`provider: transaction ${at.txHash} is not where it was listed`);
  const again = await provider.block(tip.height);
  if (again?.hash !== tip.hash)
    throw new ProviderBehind(`provider: block ${tip.height} changed while it was read`);
  return found;
}

/** Those done in the last blocks, in chain order, and the one before them. */
function mergeRecent(recent: Position[], done: Position[]): Position[] {
  const merged = [...new Map([...recent, ...done].map((one) => [one[2], one])).values()].sort(
    (a, b) => a[0] - b[0] || a[1] - b[1],
  );
  const newest = merged.at(-1)?.[0] ?? 0;
  const firstKept = merged.findIndex(([height]) => height >= newest - OVERLAP_BLOCKS);
  return merged.slice(Math.max(firstKept - 1, 0));
}

/** Where a source's sync stands; null when there is no such source. */
export async function readCursor(db: Database, sourceId: string): Promise<Cursor | null> {
  const [row] = await db.all<{
    network: Cursor["network"];
    version: number;
    position: string | null;
    recent: string;
    complete: number;
    tip_hash: string | null;
    backfill: string | null;
  }>(
    `SELECT network, version, position, recent, complete, tip_hash, backfill
     FROM source_cursor WHERE source_id = ?`,
    sourceId,
  );
  if (!row) return null;
  return {
    sourceId,
    network: row.network,
    version: row.version,
    position: row.position === null ? null : (JSON.parse(row.position) as Position),
    recent: JSON.parse(row.recent) as Position[],
    complete: row.complete === 1,
    tipHash: row.tip_hash,
    ...(row.backfill !== null && { backfill: JSON.parse(row.backfill) as Backfill }),
  };
}

async function holdLease({ db, source, now }: SyncContext): Promise<void> {
  await db.all(
    "UPDATE source_cursor SET lease_until = ? WHERE source_id = ? RETURNING 1",
    now() + LEASE_MS,
    source.id,
  );
}

/**
 * The pass is complete. These columns do not move the version, so they cannot make a batch of
 * another pass stale; but where the cursor was moved meanwhile, the pass is not complete. The tip's
 * hash is kept only where an unchanged tip means that nothing is new.
 */
async function finish(
  { db, source, now }: SyncContext,
  cursor: Cursor,
  tip: Block,
  tipHash: string | null,
): Promise<void> {
  await db.batch([
    statement(
      `UPDATE source_cursor SET tip_hash = ?, last_checked_at = ?, lease_until = NULL, error = NULL
       WHERE source_id = ? AND version = ?`,
      tipHash,
      now(),
      source.id,
      cursor.version,
    ),
    statement(
      `INSERT INTO chain_tip (network, height) VALUES (?, ?)
       ON CONFLICT (network) DO UPDATE SET height = excluded.height
       WHERE chain_tip.height <> excluded.height`,
      source.network,
      tip.height,
    ),
  ]);
}

/** Records why a pass did not complete, for operators; monitors without a key see it too. */
export async function recordFailure(db: Database, sourceId: string, reason: string): Promise<void> {
  await db.batch([
    statement(
      "UPDATE source_cursor SET error = ?, lease_until = NULL WHERE source_id = ?",
      reason.slice(0, 500),
      sourceId,
    ),
  ]);
}
