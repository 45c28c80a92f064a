import type { AddressTransaction, Block, Provider } from "../chain/provider.ts";
import { type Database, type Statement, statement } from "../db/client.ts";
import { ProviderBehind, writeCheckpoint } from "../sources/checkpoints.ts";
import { type Backfill, type Cursor, isAfter, type Position } from "../sources/cursor.ts";
import { applyTransaction } from "./apply.ts";
import { ChangeSet } from "./changes.ts";
import { commit } from "./commit.ts";
import { loadKnown, loadPricing } from "./known.ts";
import { listPending, mergeRecent, positionOf } from "./listing.ts";
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

/** A batch ends once it writes this many records or steps: about a megabyte of text. */
const MAX_RECORDS = 80;
const MAX_STEPS = 120;
/** A party may put a result of 16 KiB into a step, so the text of such steps counts as well. */
const MAX_STATE_TEXT = 500_000;
/** A lock that is ignored writes nothing, but checking it may take tens of milliseconds of CPU time. */
const MAX_IGNORED = 100;
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
 * @param deadline - epoch milliseconds after which no further batch is begun, and the one under way
 *   takes in no more
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
  if (tip.hash === cursor.tipHash) await finish(context, cursor, tip);
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
      await finish(context, cursor, tip);
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
  await holdLease(context, tip);
  const begun = context.now();
  let reads = await readTransactions(context.provider, pending, {
    complete: cursor.complete,
    // The other half of the time is for applying what was read.
    until: begun + (deadline - begun) / 2,
    now: context.now,
  });
  while (reads.length > 0) {
    reads = await applyRun(context, cursor, tip, reads, part, deadline);
    await context.committed();
    if (context.now() >= deadline) return true;
  }
  return false;
}

/**
 * Applies as many of the transactions as fit one batch and the time until `deadline`, but one in any
 * case, commits them, and returns the others.
 */
async function applyRun(
  context: SyncContext,
  cursor: Cursor,
  tip: Block,
  reads: ReadTransaction[],
  part: "past" | "new",
  deadline: number,
): Promise<ReadTransaction[]> {
  const { db, source } = context;
  const scope = scopeOf(source, cursor, part);
  const known = await loadKnown(db, source, reads, cursor.complete);
  const pricing = await loadPricing(db, scope.source, reads);
  const changes = new ChangeSet(known.filter(scope.has), context.now(), tip.height, pricing);
  const done: ReadTransaction[] = [];
  for (const read of reads) {
    await applyTransaction(changes, scope.source, read, cursor.complete);
    done.push(read);
    if (isFull(changes)) break;
    if (context.now() >= deadline) break;
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

function isFull({ records, transactions, stateText, ignoredLocks }: ChangeSet): boolean {
  return (
    records.size >= MAX_RECORDS ||
    transactions.length >= MAX_STEPS ||
    stateText >= MAX_STATE_TEXT ||
    ignoredLocks >= MAX_IGNORED
  );
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

async function holdLease({ db, source, now }: SyncContext, tip: Block): Promise<void> {
  await db.batch([
    statement(
      "UPDATE source_cursor SET lease_until = ? WHERE source_id = ?",
      now() + LEASE_MS,
      source.id,
    ),
    writeTip(source, tip),
  ]);
}

/** Confirmations are counted up to the tip: from the first batch on, not only after the last. */
function writeTip({ network }: EscrowSource, { height }: Block): Statement {
  return statement(
    `INSERT INTO chain_tip (network, height) VALUES (?, ?)
     ON CONFLICT (network) DO UPDATE SET height = excluded.height
     WHERE chain_tip.height <> excluded.height`,
    network,
    height,
  );
}

/**
 * The pass is complete. These columns do not move the version, so they cannot make a batch of
 * another pass stale; but where the cursor was moved meanwhile, the pass is not complete. As long
 * as the tip's hash stays what it is, no further transaction can have its confirmations.
 */
async function finish({ db, source, now }: SyncContext, cursor: Cursor, tip: Block): Promise<void> {
  await db.batch([
    statement(
      `UPDATE source_cursor SET tip_hash = ?, last_checked_at = ?, lease_until = NULL, error = NULL
       WHERE source_id = ? AND version = ?`,
      tip.hash,
      now(),
      source.id,
      cursor.version,
    ),
    writeTip(source, tip),
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
