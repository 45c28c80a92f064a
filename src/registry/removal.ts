import type { Network } from "../chain/network.ts";
import { type Database, statement, violates } from "../db/client.ts";
import { reserveStamps, stamp } from "../db/clock.ts";
import { StaleRegistry } from "./commit.ts";

/** Entries written per batch. */
const CHUNK = 200;
/** How long the entries of a removed source are shown as `Deregistered`, so that followers learn. */
const SHOWN_MS = 30 * 24 * 60 * 60_000;

/**
 * Brings the removal of a source further: its entries become `Deregistered` with new stamps, and
 * thirty days later they are gone, and the cursor with them.
 *
 * @param now - epoch milliseconds
 * @returns whether there is more to do now
 */
export async function continueRemoval(
  db: Database,
  source: { id: string; network: Network; removedAt: number },
  now: number,
): Promise<boolean> {
  const entries = await db.all<{ id: string; rev: number }>(
    `SELECT id, rev FROM registry_entry WHERE source_id = ? AND status <> 'Deregistered'
     ORDER BY id LIMIT ${CHUNK}`,
    source.id,
  );
  if (entries.length > 0) {
    await deregister(db, source, entries, now);
    return true;
  }
  if (now < source.removedAt + SHOWN_MS) return false;
  return forget(db, source.id);
}

/** @throws StaleRegistry when a second run, or a health check, was faster; nothing was written */
async function deregister(
  db: Database,
  { id, network }: { id: string; network: Network },
  entries: { id: string; rev: number }[],
  now: number,
): Promise<void> {
  const at = stamp("registry", network, entries.length, "item.key");
  const batch = [
    reserveStamps("registry", network, entries.length, now),
    statement(
      `UPDATE registry_entry SET
         rev = iif(registry_entry.rev = v->>'rev', registry_entry.rev + 1, NULL),
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
  try {
    await db.batch(batch);
  } catch (error) {
    if (violates(error, "registry_entry.rev")) throw new StaleRegistry("an entry was changed");
    throw error;
  }
}

async function forget(db: Database, sourceId: string): Promise<boolean> {
  const rows = await db.all<{ id: string }>(
    `SELECT id FROM registry_entry WHERE source_id = ? LIMIT ${CHUNK}`,
    sourceId,
  );
  const ids = JSON.stringify(rows.map(({ id }) => id));
  const ofEntries = (table: string, column: string) =>
    statement(
      `DELETE FROM ${table} WHERE source_id = ? AND ${column} IN (SELECT value FROM json_each(?))`,
      sourceId,
      ids,
    );
  const rest = ["registry_step", "registry_cursor", "checkpoint"];
  await db.batch([
    ofEntries("registry_health", "entry_id"),
    ofEntries("registry_entry", "id"),
    ...(rows.length < CHUNK
      ? rest.map((table) => statement(`DELETE FROM ${table} WHERE source_id = ?`, sourceId))
      : []),
  ]);
  return rows.length === CHUNK;
}
