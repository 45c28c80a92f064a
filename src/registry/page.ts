import type { Database } from "../db/client.ts";
import { ENTRY_COLUMNS, type EntryRow, entryOfRow } from "./entry.ts";
import { DOC_VERSION, render, type ShownRow, shownEntry } from "./render.ts";

const COLUMNS = `e.id, e.network, e.source_id, e.policy_id, e.agent_identifier, e.status,
  e.created_at, e.updated_at, e.status_updated_at, e.doc_version, e.doc`;

/**
 * SQL of a page: entries with their counters. Conditions speak of `e` (the entry) and `h` (its
 * health checks).
 */
export function pageSql(where: string, orderAndLimit: string): string {
  return `SELECT ${COLUMNS}, h.checks, h.successes, h.last_check_at FROM registry_entry AS e
    LEFT JOIN registry_health AS h ON h.source_id = e.source_id AND h.entry_id = e.id
    WHERE ${where} ${orderAndLimit}`;
}

/**
 * Puts a page together from stored text; a row that another version of `render.ts` wrote is
 * rendered now.
 *
 * @param db - where such rows are read from
 * @returns JSON text of the entries, comma separated
 */
export async function pageText(db: Database, rows: ShownRow[]): Promise<string> {
  const outdated = rows.filter(({ doc_version }) => doc_version !== DOC_VERSION);
  const fresh = new Map<string, string>();
  if (outdated.length > 0) {
    const read = await db.all<EntryRow>(
      `SELECT ${ENTRY_COLUMNS} FROM registry_entry WHERE id IN (SELECT value FROM json_each(?))`,
      JSON.stringify(outdated.map(({ id }) => id)),
    );
    for (const row of read) fresh.set(row.id, render(entryOfRow(row)));
  }
  return rows.map((row) => shownEntry({ ...row, doc: fresh.get(row.id) ?? row.doc })).join(",");
}
