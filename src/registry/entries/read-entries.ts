import type { Network } from "../../chain/network.ts";
import type { Database } from "../../db/client.ts";
import { jsonRowSql, parseJsonRow } from "../../db/json-row.ts";
import type { DocumentTable } from "../../db/render-outdated.ts";
import { ENTRY_COLUMNS, type EntryRow, type EntryState, toEntryRecord } from "./entry.ts";
import type { AgentProfile } from "./profile.ts";
import { DOC_VERSION, type EntryPageRow, renderEntry, renderPageEntry } from "./render-entry.ts";

/** The documents of entries, for the job that renders outdated ones again. */
export const ENTRY_DOCUMENTS: DocumentTable = {
  table: "registry_entry",
  version: DOC_VERSION,
  row: jsonRowSql(ENTRY_COLUMNS),
  render: renderEntryRow,
};

/** All that an entry is rendered from, of the table `e`. */
const RENDERED_COLUMNS = ENTRY_COLUMNS.replace(/(^|,\s+)/g, "$1e.");

const PAGE_COLUMNS = `e.id, e.network, e.source_id, e.policy_id, e.agent_identifier, e.status,
  e.created_at, e.updated_at, e.status_updated_at,
  iif(e.doc_version = ${DOC_VERSION}, e.doc, NULL) AS doc,
  iif(e.doc_version = ${DOC_VERSION}, NULL, ${jsonRowSql(RENDERED_COLUMNS)}) AS outdated`;

/**
 * SQL of a page: entries with their counters. Conditions speak of `e` (the entry) and `h` (its
 * health checks).
 */
export function pageSql(where: string, orderAndLimit: string): string {
  return `SELECT ${PAGE_COLUMNS}, h.checks, h.successes, h.last_check_at, h.last_check_error FROM registry_entry AS e
    LEFT JOIN registry_health AS h ON h.source_id = e.source_id AND h.entry_id = e.id
    WHERE ${where} ${orderAndLimit}`;
}

/**
 * Concatenates a page from stored text; a row that another version of `renderEntry` wrote is
 * rendered now, from the same read.
 *
 * @returns JSON text of the entries, comma separated
 */
export function renderPage(rows: EntryPageRow[]): string {
  return rows
    .map((row) => renderPageEntry(row, row.doc ?? renderEntryRow(row.outdated ?? "[]")))
    .join(",");
}

function renderEntryRow(row: string): string {
  return renderEntry(toEntryRecord(parseJsonRow<EntryRow>(ENTRY_COLUMNS, row)));
}

/**
 * The names that agents were registered by, by agent identifier: what their tokens say, also of those
 * that exist no more. An agent of which we know none is left out.
 */
export async function loadRegisteredNames(
  database: Database,
  network: Network,
  agents: readonly string[],
): Promise<Map<string, string>> {
  const rows = await database.all<{ agent: string; name: string }>(
    `SELECT agent_identifier AS agent, state->'profile'->>'name' AS name
     FROM registry_entry INDEXED BY registry_entry_token
     WHERE agent_identifier IN (SELECT value FROM json_each(?)) AND network = ? AND name IS NOT NULL
     ORDER BY id`,
    JSON.stringify(agents),
    network,
  );
  return new Map(rows.map(({ agent, name }) => [agent, name]));
}

/** How long ago a registry source may have been read to its end. */
const PROFILE_MAX_AGE_MS = 5 * 60 * 1000;

/**
 * What an agent's token says of it, where a registry source that is followed and was just read has it.
 * Null when it does not know: another place has to be asked.
 *
 * @param now - epoch milliseconds
 */
export async function loadFreshProfile(
  database: Database,
  network: Network,
  agentIdentifier: string,
  now: number,
): Promise<AgentProfile | null> {
  const [row] = await database.all<{ state: string }>(
    `SELECT state FROM registry_entry AS e
     JOIN registry_cursor AS c ON c.source_id = e.source_id
     WHERE e.agent_identifier = ? AND e.network = ? AND e.status <> 'Deregistered'
       AND c.removed_at IS NULL AND c.error IS NULL AND c.tip_hash IS NOT NULL
       AND c.last_checked_at >= ?
     LIMIT 1`,
    agentIdentifier,
    network,
    now - PROFILE_MAX_AGE_MS,
  );
  if (!row) return null;
  return (JSON.parse(row.state) as EntryState).profile;
}
