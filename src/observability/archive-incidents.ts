import { getTableConfig } from "drizzle-orm/sqlite-core";
import { isBehind, type LastCopy, selectLastCopies } from "../archive/last-copies.ts";
import type { MovedKind } from "../archive/moved-kind.ts";
import {
  type ArchiveEnv,
  isBelowFilledShare,
  listUnboundArchives,
  nameArchive,
  openArchives,
} from "../archive/open-archives.ts";
import { type Database, type Statement, statement } from "../db/client.ts";
import { openRecordDatabases } from "../db/record-databases.ts";
import type { Env } from "../env.ts";
import type { ServiceEventKind } from "../events/event-kinds.ts";
import type { NewIncident, readOpenIncidents } from "../events/incidents.ts";
import { log } from "../log.ts";
import { MOVED_KINDS } from "./moved-kinds.ts";

/**
 * The bindings of archives that have records and are not bound.
 *
 * @param deadline - epoch milliseconds
 * @throws DatabaseUnavailableError
 */
export async function findUnboundArchives(
  env: ArchiveEnv & Pick<Env, "DB">,
  deadline: number,
): Promise<string[]> {
  const databases = openRecordDatabases(env, { deadline });
  const names = await Promise.all(databases.map((one) => listUnboundArchives(env, one)));
  return [...new Set(names.flat())];
}

/** Bindings of archives that wait for a person. */
interface ArchiveReport {
  /** The one to add, as all that are bound are full. */
  needed: string[];
  /** Those that have less than the database moved there: they were set back. */
  behind: string[];
  /** Those that lack tables or columns. */
  unmigrated: string[];
}

/**
 * Asks each archive for its size and its last copies. While one does not answer, what was known stays.
 *
 * @param known - the open incidents
 * @param deadline - epoch milliseconds
 * @throws DatabaseUnavailableError if the database of the records fails
 */
export async function checkArchives(
  env: ArchiveEnv & Pick<Env, "DB" | "DATABASE_MAX_BYTES">,
  known: Awaited<ReturnType<typeof readOpenIncidents>>,
  deadline: number,
): Promise<ArchiveReport> {
  const archives = openArchives(env);
  if (archives.length === 0) return { needed: [], behind: [], unmigrated: [] };
  // Read first: an archive has each copy before the database knows of it.
  const ranges = await Promise.all(
    openRecordDatabases(env, { deadline }).map((one) =>
      one.all<LastCopy & { archive: number }>(
        "SELECT kind, network, archive, operation FROM archive_range",
      ),
    ),
  );
  const behind: string[] = [];
  const unmigrated: string[] = [];
  let hasRoom = false;
  try {
    for (const { number, name, open } of archives) {
      const result = await readLastCopies(open({ deadline }));
      if (!result) {
        unmigrated.push(name);
        hasRoom = true;
        continue;
      }
      hasRoom ||= isBelowFilledShare(env, result.meta.size_after);
      const moves = ranges.flat().filter(({ archive }) => archive === number);
      if (isBehind(moves, result.results)) behind.push(name);
    }
  } catch (error) {
    log("warn", "archive.unread", { error: String(error) });
    const list = (kind: ServiceEventKind) => known.get(kind)?.map(({ subject }) => subject) ?? [];
    return {
      needed: list("ARCHIVE_NEEDED"),
      behind: list("ARCHIVE_BEHIND"),
      unmigrated: list("ARCHIVE_UNMIGRATED"),
    };
  }
  return { needed: hasRoom ? [] : [nameArchive(archives.length + 1)], behind, unmigrated };
}

/** What SQLite says of a table or a column that a migration makes. */
const UNMIGRATED_PATTERN = /no such (table|column)/;

/** What an archive knows of its last copies. @returns null: it lacks tables or columns */
async function readLastCopies(
  archive: Pick<Database, "batch">,
): Promise<D1Result<LastCopy> | null> {
  try {
    const [result] = await archive.batch([
      selectLastCopies(),
      ...MOVED_KINDS.flatMap(selectNothing),
    ]);
    return result as D1Result<LastCopy>;
  } catch (error) {
    if (UNMIGRATED_PATTERN.test(String(error))) return null;
    throw error;
  }
}

/** Statements that name each column of a kind, and read no row. */
function selectNothing({ table, children, addedColumns }: MovedKind): Statement[] {
  return [table, ...children].map((one) => {
    const { name, columns } = getTableConfig(one);
    const names = columns.map((column) => column.name);
    const added = one === table ? Object.keys(addedColumns) : [];
    return statement(`SELECT ${[...names, ...added].join()} FROM ${name} LIMIT 0`);
  });
}

/** @param bindings - of archives that wait for a person */
export function toArchiveIncidents(bindings: readonly string[]): NewIncident[] {
  return bindings.map((binding) => ({ subject: binding, sourceId: null, data: { binding } }));
}
