import type { Network } from "../../chain/network.ts";
import { type Database, openDb, statement } from "../../db/client.ts";
import type { Env } from "../../env.ts";
import { ENTRY_COLUMNS, type EntryRow, type EntryStatus, toEntryRecord } from "../entries/entry.ts";
import type { AgentProfile } from "../entries/profile.ts";

/** Entries written per batch, if they have no more text than fits a statement. */
const CHUNK_SIZE = 200;
/** Characters. A parameter may have two million bytes, and one entry may add a tenth of it. */
const MAX_TEXT_LENGTH = 400_000;
/** A single statement may take this long, retries included. */
const DATABASE_TIMEOUT_MS = 30_000;

/**
 * Updates the search index of a network. It follows the change stamps like a client of the diff,
 * and fills an empty index.
 *
 * @param deadline - epoch milliseconds after which no further batch is begun
 * @returns whether there is more to do
 */
export async function indexChanges(
  env: Pick<Env, "DB" | "SEARCH_DB">,
  network: Network,
  deadline: number,
): Promise<boolean> {
  const database = openDb(env, network, { deadline: deadline + DATABASE_TIMEOUT_MS });
  const index = openSearchDatabase(env, deadline + DATABASE_TIMEOUT_MS);
  for (;;) {
    const [position] = await index.all<{ stamp: number }>(
      "SELECT stamp FROM search_position WHERE network = ?",
      network,
    );
    const rows = await database.all<ChangedRow>(
      `SELECT ${ENTRY_COLUMNS}, status, status_updated_at AS stamp FROM registry_entry
       WHERE network = ? AND status_updated_at > ? ORDER BY status_updated_at LIMIT ${CHUNK_SIZE}`,
      network,
      position?.stamp ?? 0,
    );
    const indexed = limitToBatch(rows.map(toIndexedEntry));
    const last = indexed.at(-1);
    if (!last) return false;
    await writeIndex(index, network, indexed, last.stamp);
    if (indexed.length === rows.length && rows.length < CHUNK_SIZE) return false;
    if (Date.now() >= deadline) return true;
  }
}

/** The database of the search index. */
export function openSearchDatabase(env: Pick<Env, "SEARCH_DB">, deadline?: number): Database {
  return openDb({ DB: env.SEARCH_DB }, undefined, {
    writes: "idempotent",
    ...(deadline !== undefined && { deadline }),
  });
}

type ChangedRow = EntryRow & { status: EntryStatus; stamp: number };

interface IndexedEntry {
  id: string;
  status: EntryStatus;
  stamp: number;
  text: string;
}

function toIndexedEntry(row: ChangedRow): IndexedEntry {
  const { agentIdentifier, state } = toEntryRecord(row);
  const { id, status, stamp } = row;
  return { id, status, stamp, text: buildSearchText(agentIdentifier, state.profile) };
}

/** The first entries, as many as one batch takes. */
function limitToBatch(entries: IndexedEntry[]): IndexedEntry[] {
  let length = 0;
  const full = entries.findIndex(({ text }) => {
    length += text.length;
    return length > MAX_TEXT_LENGTH;
  });
  return full === -1 ? entries : entries.slice(0, full + 1);
}

async function writeIndex(
  index: Database,
  network: Network,
  indexed: IndexedEntry[],
  stamp: number,
): Promise<void> {
  const entries = JSON.stringify(indexed);
  const numbers = `SELECT number FROM search_entry
    WHERE id IN (SELECT value->>'id' FROM json_each(?))`;
  await index.batch([
    statement(
      `INSERT INTO search_entry (id, network, status)
       SELECT value->>'id', ?, value->>'status' FROM json_each(?) WHERE true
       ON CONFLICT (id) DO UPDATE SET status = excluded.status`,
      network,
      entries,
    ),
    statement(`DELETE FROM search_text WHERE rowid IN (${numbers})`, entries),
    statement(
      `INSERT INTO search_text (rowid, text)
       SELECT e.number, item.value->>'text' FROM json_each(?) AS item
       JOIN search_entry AS e ON e.id = item.value->>'id'`,
      entries,
    ),
    statement(
      `INSERT INTO search_position (network, stamp) VALUES (?, ?)
       ON CONFLICT (network) DO UPDATE SET stamp = max(stamp, excluded.stamp)`,
      network,
      stamp,
    ),
  ]);
}

/** The text that is searched: lower case, with single blanks. */
function buildSearchText(agentIdentifier: string, profile: AgentProfile | null): string {
  const { name, description, author, apiBaseUrl, tags = [], capability } = profile ?? {};
  return normalizeText(
    [
      name,
      description,
      author?.name,
      author?.organization,
      apiBaseUrl,
      agentIdentifier,
      capability?.name,
      capability?.version,
      ...tags,
    ]
      .filter(Boolean)
      .join(" "),
  );
}

/** Lower case, each run of white space and control characters, which end SQL's texts, one blank. */
export function normalizeText(text: string): string {
  return text.toLowerCase().replace(/[\s\p{Cc}]+/gu, " ");
}
