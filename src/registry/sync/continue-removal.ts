import type { Network } from "../../chain/network.ts";
import { type Database, onViolation, statement } from "../../db/client.ts";
import { reserveStamps, stampSql } from "../../db/clock.ts";
import { StaleRecordError } from "../../indexer/cursor.ts";
import type { RemovalListener } from "./mint-listener.ts";

/** Entries written per batch. */
const CHUNK_SIZE = 200;
/** How long the entries of a removed source are shown as `Deregistered`, so that followers learn. */
const DEREGISTERED_RETENTION_MS = 30 * 24 * 60 * 60_000;

/** A source that was removed. */
export interface RemovedSource {
  id: string;
  network: Network;
  /** Epoch milliseconds. */
  removedAt: number;
  /** Whether all its entries are `Deregistered` by now. */
  isDeregistered: boolean;
}

/** The removed source that a cursor is of; null when the cursor is gone or its source is followed. */
export async function loadRemovedSource(
  db: Database,
  sourceId: string,
): Promise<RemovedSource | null> {
  const [row] = await db.all<Omit<RemovedSource, "isDeregistered"> & { endedAt: number | null }>(
    `SELECT source_id AS id, network, removed_at AS removedAt, last_checked_at AS endedAt
     FROM registry_cursor WHERE source_id = ? AND removed_at IS NOT NULL`,
    sourceId,
  );
  if (!row) return null;
  const { endedAt, ...source } = row;
  return { ...source, isDeregistered: endedAt !== null };
}

/**
 * Continues the removal of a source. Its entries become `Deregistered` with new stamps. Thirty days
 * later the entries and the cursor are deleted.
 *
 * @param now - epoch milliseconds
 * @returns whether there is more to do now
 */
export async function continueRemoval(
  db: Database,
  source: RemovedSource,
  now: number,
  listener?: RemovalListener,
): Promise<boolean> {
  if (source.isDeregistered) {
    if (now < source.removedAt + DEREGISTERED_RETENTION_MS) return false;
    return (await listener?.deleteAll()) || deleteEntries(db, source.id);
  }
  const entries = await db.all<{ id: string; revision: number }>(
    `SELECT id, revision FROM registry_entry WHERE source_id = ? AND status <> 'Deregistered'
     ORDER BY id LIMIT ${CHUNK_SIZE}`,
    source.id,
  );
  if (entries.length > 0) await deregisterEntries(db, source, entries, now);
  else if (!(await listener?.end(now))) {
    await markDeregistered(db, source.id, now);
    return false;
  }
  return true;
}

/** Records that all entries are `Deregistered`, so that they are not scanned each minute. */
async function markDeregistered(db: Database, sourceId: string, now: number): Promise<void> {
  await db.batch([
    statement(
      `UPDATE registry_cursor SET last_checked_at = ?
       WHERE source_id = ? AND removed_at IS NOT NULL`,
      now,
      sourceId,
    ),
  ]);
}

/** @throws StaleRecordError when a second run, or a health check, was faster; nothing was written */
async function deregisterEntries(
  db: Database,
  { id, network }: { id: string; network: Network },
  entries: { id: string; revision: number }[],
  now: number,
): Promise<void> {
  const at = stampSql("registry", network, entries.length, "item.key");
  const batch = [
    reserveStamps("registry", network, entries.length, now),
    statement(
      `UPDATE registry_entry SET
         revision = iif(registry_entry.revision = v->>'revision', registry_entry.revision + 1, NULL),
         status = 'Deregistered', state = json_set(state, '$.supply', '0'),
         updated_at = ?, status_updated_at = at
       FROM (SELECT item.value AS v, ${at.sql} AS at FROM json_each(?) AS item)
       WHERE registry_entry.id = v->>'id'`,
      now,
      ...at.params,
      JSON.stringify(entries),
    ),
    statement(
      `UPDATE registry_health SET due_at = NULL
       WHERE source_id = ? AND entry_id IN (SELECT value->>'id' FROM json_each(?))`,
      id,
      JSON.stringify(entries),
    ),
  ];
  await db
    .batch(batch)
    .catch(
      onViolation("registry_entry.revision", () => new StaleRecordError("an entry was changed")),
    );
}

async function deleteEntries(db: Database, sourceId: string): Promise<boolean> {
  const rows = await db.all<{ id: string }>(
    `SELECT id FROM registry_entry WHERE source_id = ? LIMIT ${CHUNK_SIZE}`,
    sourceId,
  );
  const ids = JSON.stringify(rows.map(({ id }) => id));
  const deleteRowsOfEntries = (table: string, column: string) =>
    statement(
      `DELETE FROM ${table} WHERE source_id = ? AND ${column} IN (SELECT value FROM json_each(?))`,
      sourceId,
      ids,
    );
  const rest = ["registry_step", "registry_cursor", "checkpoint"];
  await db.batch([
    deleteRowsOfEntries("registry_health", "entry_id"),
    deleteRowsOfEntries("registry_entry", "id"),
    ...(rows.length < CHUNK_SIZE
      ? rest.map((table) => statement(`DELETE FROM ${table} WHERE source_id = ?`, sourceId))
      : []),
  ]);
  return rows.length === CHUNK_SIZE;
}
