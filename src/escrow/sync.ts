import type { Block, Provider } from "../chain/provider.ts";
import { type Database, statement } from "../db/client.ts";
import type { Cursor, Position } from "../sources/cursor.ts";
import { applyTransaction } from "./apply.ts";
import { ChangeSet } from "./changes.ts";
import { commit } from "./commit.ts";
import { loadKnown } from "./known.ts";
import { listPending, ProviderLags, positionOf } from "./listing.ts";
import { readTransactions } from "./read.ts";
import { undoRolledBack, writeCheckpoint } from "./rollback.ts";
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
 * in order, one batch after another, until there are none or `deadline` passes. Safe to stop
 * anywhere and to run again: a batch either moved the cursor with all it wrote, or did nothing.
 *
 * @param deadline - epoch milliseconds after which no further batch is begun
 * @returns whether there is more to do
 * @throws ProviderError, ProviderLags, StaleCursor, DatabaseUnavailable: nothing is lost by any
 */
export async function syncSource(context: SyncContext, deadline: number): Promise<boolean> {
  const { db, provider, source, threshold } = context;
  const cursor = await readCursor(db, source.id);
  if (cursor === null) return false;
  const tip = await provider.latestBlock();
  if (tip.hash === cursor.tipHash) {
    await finish(context, cursor, tip, tip.hash);
    return false;
  }
  await undoRolledBack(db, provider, cursor, tip, context.now(), context.now() + LEASE_MS);

  for (;;) {
    const pending = await listPending(provider, source.contractAddress, cursor, tip, threshold);
    if (pending.length === 0) {
      await finish(context, cursor, tip, threshold > 1 ? null : tip.hash);
      return false;
    }
    await holdLease(context);
    let reads = await readTransactions(provider, pending);
    while (reads.length > 0) {
      reads = await applyRun(context, cursor, tip, reads);
      await context.committed();
      if (context.now() >= deadline) return true;
    }
  }
}

/** Applies as many of the transactions as fit one batch, commits them, and returns the others. */
async function applyRun(
  context: SyncContext,
  cursor: Cursor,
  tip: Block,
  reads: ReadTransaction[],
): Promise<ReadTransaction[]> {
  const { db, source } = context;
  const known = await loadKnown(db, source, reads, cursor.complete);
  const changes = new ChangeSet(known, context.now(), tip.height);
  const done: ReadTransaction[] = [];
  for (const read of reads) {
    await applyTransaction(changes, source, read, cursor.complete);
    done.push(read);
    if (changes.records.size >= MAX_RECORDS || changes.transactions.length >= MAX_STEPS) break;
  }
  const last = done.at(-1);
  if (!last) return [];

  const checkpoint = await confirmChain(context.provider, last, tip);
  const position = positionOf(last.at);
  const recent = mergeRecent(
    cursor.recent,
    done.map(({ at }) => positionOf(at)),
  );
  const move = { position, recent, leaseUntil: context.now() + LEASE_MS };
  await commit(db, cursor, changes, move, writeCheckpoint(source.id, checkpoint, tip));
  return reads.slice(done.length);
}

/**
 * Binds the run to the chain it was read from: its last transaction to a block, and the tip from
 * before the reading still in place after it. Otherwise what was read may come from two chains.
 */
async function confirmChain(provider: Provider, { at }: ReadTransaction, tip: Block) {
  const found = await provider.transaction(at.txHash);
  if (found?.blockHeight !== at.blockHeight || found.txIndex !== at.txIndex)
    throw new ProviderLags(`provider: transaction ${at.txHash} is not where it was listed`);
  const again = await provider.block(tip.height);
  if (again?.hash !== tip.hash)
    throw new ProviderLags(`provider: block ${tip.height} changed while it was read`);
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

async function readCursor(db: Database, sourceId: string): Promise<Cursor | null> {
  const [row] = await db.all<{
    network: Cursor["network"];
    version: number;
    position: string | null;
    recent: string;
    complete: number;
    tip_hash: string | null;
  }>(
    `SELECT network, version, position, recent, complete, tip_hash
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
