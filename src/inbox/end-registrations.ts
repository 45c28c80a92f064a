import type { Network } from "../chain/network.ts";
import { type Database, statement } from "../db/client.ts";
import { reserveStamps, stampSql } from "../db/clock.ts";
import { CLEAR_PUBLISHED_FIELDS_SQL } from "./write-inbox-mints.ts";

/** Registrations written per batch. */
const MAX_REGISTRATIONS_PER_BATCH = 200;

/**
 * Ends the registrations of a removed registry source; a new stamp shows it to polling clients.
 *
 * @param now - epoch milliseconds
 * @returns whether there are more
 */
export async function endRegistrations(
  db: Database,
  { id, network }: { id: string; network: Network },
  now: number,
): Promise<boolean> {
  const rows = await db.all<{ id: string }>(
    `SELECT id FROM inbox_registration WHERE source_id = ? AND status <> 'Deregistered'
     LIMIT ${MAX_REGISTRATIONS_PER_BATCH}`,
    id,
  );
  if (rows.length === 0) return false;
  const at = stampSql("inbox", network, rows.length, "item.key");
  await db.batch([
    reserveStamps("inbox", network, rows.length, now),
    statement(
      `UPDATE inbox_registration SET status = 'Deregistered', ${CLEAR_PUBLISHED_FIELDS_SQL}, due_at = NULL,
         updated_at = ?, status_updated_at = at, revision = revision + 1
       FROM (SELECT item.value AS ended, ${at.sql} AS at FROM json_each(?) AS item)
       WHERE id = ended AND status <> 'Deregistered'`,
      now,
      ...at.params,
      JSON.stringify(rows.map((row) => row.id)),
    ),
  ]);
  return true;
}

/** Permanently removes the registrations of a source. @returns whether there are more */
export async function deleteRegistrations(db: Database, sourceId: string): Promise<boolean> {
  const rows = await db.all<{ id: string }>(
    `SELECT id FROM inbox_registration WHERE source_id = ? LIMIT ${MAX_REGISTRATIONS_PER_BATCH}`,
    sourceId,
  );
  if (rows.length === 0) return false;
  await db.batch([
    statement(
      "DELETE FROM inbox_registration WHERE id IN (SELECT value FROM json_each(?))",
      JSON.stringify(rows.map(({ id }) => id)),
    ),
  ]);
  return true;
}
