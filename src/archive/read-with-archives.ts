import type { Database } from "../db/client.ts";
import type { SqlExpression } from "../db/clock.ts";
import type { Archive } from "./open-archives.ts";
import {
  type ArchivedSubject,
  type ArchiveRange,
  type FindNamed,
  listPlaces,
  openArchive,
  type PlacedRow,
  type ReadArchive,
  repeatRead,
  selectRanges,
} from "./read-archive.ts";

/** Rows of an archive that are read, and looked up in the database, together. */
const PAGE_ROWS = 5_000;

/** All rows of a condition, in the database and its archives. */
export interface ArchivedQuery<Row extends PlacedRow> extends ArchivedSubject {
  /** SQL condition on `archive_range`, that an archive may have rows. */
  overlap: SqlExpression;
  /** The rows in an archive, in a fixed order. @param after - the row after which to begin; null: the first */
  buildArchived(after: Row | null, limit: number): SqlExpression;
  findNamed: FindNamed;
  /** What is read of the database. */
  hot: SqlExpression;
}

/** What an archive has, and the reader of that archive. */
export interface ArchivedPart<Row> {
  archive: number;
  read: ReadArchive;
  /** The rows that are in this archive and nowhere else, in the order of the query. */
  rows: Row[];
}

/**
 * Reads rows of the database, and which rows archives had at the same moment. When a record moved or came back
 * between, it begins again.
 *
 * @throws ArchiveBehindError, DatabaseUnavailableError
 */
export function readWithArchives<HotRow, Row extends PlacedRow>(
  db: Database,
  archives: readonly Archive[],
  query: ArchivedQuery<Row>,
): Promise<{ hot: HotRow[]; archived: ArchivedPart<Row>[] }> {
  return repeatRead(
    () => tryToRead<HotRow, Row>(db, archives, query),
    "records keep moving to an archive",
  );
}

/** @returns null: records moved or came back meanwhile */
async function tryToRead<HotRow, Row extends PlacedRow>(
  db: Database,
  archives: readonly Archive[],
  query: ArchivedQuery<Row>,
): Promise<{ hot: HotRow[]; archived: ArchivedPart<Row>[] } | null> {
  const selectStates = selectRanges(query, query.overlap);
  const [begin, own] = (await db.batch([selectStates, query.hot])) as [
    D1Result<ArchiveRange>,
    D1Result<HotRow>,
  ];
  const parts: ArchivedPart<Row>[] = [];
  for (const state of begin.results) {
    const read = openArchive(archives, state, query);
    parts.push({ archive: state.archive, read, rows: await readAll(read, query) });
  }
  if (parts.length === 0) return { hot: own.results, archived: [] };
  const checks = parts.flatMap(({ archive, rows }) =>
    chunk(rows).map((some) => query.findNamed(archive, listPlaces(some))),
  );
  const [now, ...named] = await db.batch([selectStates, ...checks]);
  if (toVersion((now as D1Result<ArchiveRange>).results) !== toVersion(begin.results)) return null;
  const archived = parts.map((part) => {
    const found = named.splice(0, chunk(part.rows).length) as D1Result<{ id: string }>[];
    const ids = new Set(found.flatMap(({ results }) => results.map(({ id }) => id)));
    return { ...part, rows: part.rows.filter(({ id }) => ids.has(id)) };
  });
  return { hot: own.results, archived };
}

const toVersion = (ranges: readonly ArchiveRange[]) =>
  JSON.stringify(ranges.map(({ archive, operation, returned }) => [archive, operation, returned]));

async function readAll<Row extends PlacedRow>(
  read: ReadArchive,
  { buildArchived }: ArchivedQuery<Row>,
): Promise<Row[]> {
  const rows: Row[] = [];
  for (let after: Row | null = null; ; ) {
    const page: Row[] = await read<Row>(buildArchived(after, PAGE_ROWS));
    rows.push(...page);
    after = page.at(-1) ?? null;
    if (page.length < PAGE_ROWS) return rows;
  }
}

function chunk<Row>(rows: readonly Row[]): Row[][] {
  return Array.from({ length: Math.ceil(rows.length / PAGE_ROWS) }, (_, i) =>
    rows.slice(i * PAGE_ROWS, (i + 1) * PAGE_ROWS),
  );
}
