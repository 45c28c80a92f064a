import type { Network } from "../chain/network.ts";
import { type Database, DatabaseUnavailableError, statement } from "../db/client.ts";
import type { SqlExpression } from "../db/clock.ts";
import type { ArchivedKind } from "./archive-tables.ts";
import type { Archive } from "./open-archives.ts";
import { type ArchiveState, type MergedRow, openArchive, type ReadArchive } from "./read-merged.ts";

/** Rows of an archive that are read, and looked up in the database, together. */
const PAGE_ROWS = 5_000;
const MAX_ATTEMPTS = 4;

/** All rows of a condition, in the database and its archives. */
export interface ArchivedQuery<Row extends MergedRow> {
  kind: ArchivedKind;
  network: Network;
  /** SQL condition on `archive_range`, that an archive may have rows. */
  overlap: SqlExpression;
  /** The rows in an archive, in a fixed order. @param after - the row after which to begin; null: the first */
  buildArchived(after: Row | null, limit: number): SqlExpression;
  /** As `MergedPage.findNamed`. */
  findNamed(archive: number, places: string): SqlExpression;
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
export async function readWithArchives<HotRow, Row extends MergedRow>(
  db: Database,
  archives: readonly Archive[],
  query: ArchivedQuery<Row>,
): Promise<{ hot: HotRow[]; archived: ArchivedPart<Row>[] }> {
  const { kind, network, overlap, hot } = query;
  const ranges = statement(
    `SELECT archive, operation, returned, bookmark FROM archive_range
     WHERE kind = ? AND network = ? AND ${overlap.sql} ORDER BY archive`,
    kind,
    network,
    ...overlap.params,
  );
  type State = ArchiveState & { returned: number };
  const toVersion = (states: readonly State[]) =>
    JSON.stringify(
      states.map(({ archive, operation, returned }) => [archive, operation, returned]),
    );
  for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt++) {
    const [begin, own] = (await db.batch([ranges, statement(hot.sql, ...hot.params)])) as [
      D1Result<State>,
      D1Result<HotRow>,
    ];
    const states = begin.results;
    if (states.length === 0) return { hot: own.results, archived: [] };
    const parts: ArchivedPart<Row>[] = [];
    for (const state of states) {
      const read = openArchive(archives, state, kind, network);
      parts.push({ archive: state.archive, read, rows: await readAll(read, query) });
    }
    const checks = parts.flatMap(({ archive, rows }) =>
      chunk(rows).map((some) => {
        const places = `[${some.map(({ place }) => place).join(",")}]`;
        const { sql, params } = query.findNamed(archive, places);
        return statement(sql, ...params);
      }),
    );
    const [now, ...named] = await db.batch([ranges, ...checks]);
    if (toVersion((now as D1Result<State>).results) !== toVersion(states)) continue;
    const archived = parts.map((part) => {
      const found = named.splice(0, chunk(part.rows).length) as D1Result<{ id: string }>[];
      const ids = new Set(found.flatMap(({ results }) => results.map(({ id }) => id)));
      return { ...part, rows: part.rows.filter(({ id }) => ids.has(id)) };
    });
    return { hot: own.results, archived };
  }
  throw new DatabaseUnavailableError("records keep moving to an archive");
}

async function readAll<Row extends MergedRow>(
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
