import type { Block, Provider } from "../chain/provider.ts";
import { type Database, statement } from "../db/client.ts";
import { writeCheckpoint } from "../sources/checkpoints.ts";
import { applyMint, EntryChanges, stepName } from "./changes.ts";
import { commit, MAX_TEXT } from "./commit.ts";
import { type FollowedSource, mergeRecent, type RegistryCursor, readCursor } from "./cursor.ts";
import { ENTRY_COLUMNS, type EntryRecord, type EntryRow, entryOfRow } from "./entry.ts";
import type { MintFollower } from "./follower.ts";
import { listPending, type ReadMint, readMints, requireSameChain } from "./listing.ts";
import { undoRolledBack } from "./rollback.ts";

/** What a pass works with. */
export interface RegistrySyncContext {
  db: Database;
  provider: Provider;
  source: FollowedSource;
  /** Confirmations a transaction needs before it is applied, at least 1. */
  threshold: number;
  /** Epoch milliseconds. */
  now(): number;
  /** Who else lives on the policy. */
  follower?: MintFollower;
  /** Called after each commit, to wake whoever follows the entries. */
  committed(): Promise<void>;
}

/** Transactions read before they are written: what a failure can cost. */
const MAX_READS = 20;
/** A batch ends once it writes this many entries, or as much text as `MAX_TEXT` says. */
const MAX_ENTRIES = 100;

/**
 * One pass over a registry source: what the chain took back is undone, then its new mints and burns
 * are applied in order, one batch after another, until there are none or `deadline` passes. Safe to
 * stop anywhere and to run again.
 *
 * @param deadline - epoch milliseconds after which no further batch is begun
 * @returns whether there is more to do
 * @throws ProviderError, StaleRegistry, DatabaseUnavailable: nothing is lost by any
 */
export async function syncRegistry(
  context: RegistrySyncContext,
  deadline: number,
): Promise<boolean> {
  const { db, provider, source, threshold, now } = context;
  const cursor = await readCursor(db, source.id);
  if (cursor === null) return false;
  const tip = await provider.latestBlock();
  if (tip.hash === cursor.tipHash) {
    await finish(context, cursor, tip.hash);
    return false;
  }
  await undoRolledBack(db, provider, cursor, tip, now(), context.follower);

  const newest = tip.height - threshold + 1;
  const isOver = () => now() >= deadline;
  for (;;) {
    let pending = await listPending(provider, source.policyId, cursor);
    if (pending.length === 0) break;
    while (pending.length > 0) {
      const reads = await readMints(provider, pending.slice(0, MAX_READS), newest, isOver);
      if (reads.length === 0) {
        // The rest lacks confirmations, which only another tip can bring.
        await finish(context, cursor, tip.hash);
        return false;
      }
      const done = await applyRun(context, cursor, tip, reads);
      await context.committed();
      pending = pending.slice(done);
      if (isOver()) return true;
    }
  }
  await finish(context, cursor, tip.hash);
  return false;
}

/** Applies as many of the transactions as fit one batch, commits them, and says how many. */
async function applyRun(
  { db, provider, source, now, follower }: RegistrySyncContext,
  cursor: RegistryCursor,
  tip: Block,
  reads: ReadMint[],
): Promise<number> {
  const known = await loadEntries(db, source, reads);
  const changes = new EntryChanges(known, await loadSteps(db, source, reads), now());
  const done: ReadMint[] = [];
  for (const read of reads) {
    applyMint(changes, source, read);
    done.push(read);
    if (changes.entries.size >= MAX_ENTRIES || changes.textLength >= MAX_TEXT) break;
  }
  const last = done.at(-1);
  if (!last) return 0;
  await requireSameChain(provider, tip);
  const recent = mergeRecent(
    cursor.recent,
    done.map(({ position }) => position),
  );
  await commit(db, cursor, changes, recent, [
    ...writeCheckpoint(source.id, last.at, tip),
    ...(follower?.apply(done, changes.now) ?? []),
  ]);
  return done.length;
}

/** The entries of the tokens that some transactions mint or burn. */
async function loadEntries(
  db: Database,
  source: FollowedSource,
  reads: ReadMint[],
): Promise<EntryRecord[]> {
  const units = reads.flatMap(({ tx }) =>
    tx.mint.flatMap(({ policyId, assetName }) =>
      policyId === source.policyId ? [policyId + assetName] : [],
    ),
  );
  const rows = await db.all<EntryRow>(
    `SELECT ${ENTRY_COLUMNS} FROM registry_entry
     WHERE agent_identifier IN (SELECT value FROM json_each(?)) AND source_id = ?`,
    JSON.stringify([...new Set(units)]),
    source.id,
  );
  return rows.map(entryOfRow);
}

/** Names of the steps that some transactions have made already. */
async function loadSteps(
  db: Database,
  source: FollowedSource,
  reads: ReadMint[],
): Promise<Set<string>> {
  const rows = await db.all<{ entry_id: string; tx_hash: string }>(
    `SELECT entry_id, tx_hash FROM registry_step
     WHERE (source_id, block_height, tx_index, tx_hash) IN
       (SELECT ?, value->>0, value->>1, value->>2 FROM json_each(?))`,
    source.id,
    JSON.stringify(reads.map(({ position }) => position)),
  );
  return new Set(rows.map(({ entry_id, tx_hash }) => stepName(entry_id, tx_hash)));
}

/** The pass is complete, unless the cursor was moved meanwhile. */
async function finish(
  { db, source, now }: RegistrySyncContext,
  cursor: RegistryCursor,
  tipHash: string,
): Promise<void> {
  await db.batch([
    statement(
      `UPDATE registry_cursor SET tip_hash = ?, last_checked_at = ?, error = NULL
       WHERE source_id = ? AND version = ?`,
      tipHash,
      now(),
      source.id,
      cursor.version,
    ),
  ]);
}

/** Records why a pass did not complete, for operators. */
export async function recordFailure(db: Database, sourceId: string, reason: string): Promise<void> {
  await db.batch([
    statement(
      "UPDATE registry_cursor SET error = ? WHERE source_id = ?",
      reason.slice(0, 500),
      sourceId,
    ),
  ]);
}
