import { type Database, statement } from "../db/client.ts";
import type { SqlExpression } from "../db/clock.ts";
import type { Archive } from "./open-archives.ts";
import {
  type ArchivedSubject,
  type ArchiveRange,
  type ArchiveState,
  type FindNamed,
  listPlaces,
  openArchive,
  type PlacedRow,
  type ReadArchive,
  repeatRead,
  selectRanges,
} from "./read-archive.ts";

/** A page over the database and its archives. `Context` is what the database adds for the archives. */
export interface MergedPage<Row extends PlacedRow, Context> extends ArchivedSubject {
  limit: number;
  isDescending: boolean;
  /** What rows are ordered by, before their ids. */
  keyOf(row: Row): string | number;
  /** Column of `archive_range` with the key of an archive's first row: `least_` or, descending, `greatest_`. */
  firstKey: string;
  /** SQL condition on `archive_range`, that an archive may have rows of the page; null: none has. */
  overlap: SqlExpression | null;
  /** Whether that condition has a least `greatest_changed_at`: then no archive is read that has none. */
  isByStamp: boolean;
  /** SQL of the columns of `Context`. */
  context: SqlExpression;
  /** The page in the database. */
  hot: SqlExpression;
  /** The page in an archive. @param after - from which row on, or after it; null: from its beginning */
  buildArchived(context: Context, after: Row | null): SqlExpression;
  /** Whether a row of an archive is older than the state of the database in which the page began. */
  isKnown(row: Row, context: Context): boolean;
  findNamed: FindNamed;
  /** `id` and `place` of an archive's rows. @param ids - JSON array */
  selectPlaces(ids: string): SqlExpression;
}

interface Range extends ArchiveRange {
  firstKey: string | number | null;
}

/**
 * Reads a page. All that the database has of it is read at one moment, the ranges of the archives too. A move
 * since then shows a record in both places, of which one counts. It may also name the place of an older copy that
 * was read before, so the copies are compared. A return since then might hide a record, so the page begins again.
 * A copy that the database does not name counts nowhere. Archives that begin after a page
 * that is full are not asked.
 *
 * @param db - a session, whose reads never see less than earlier ones
 * @throws ArchiveBehindError, DatabaseUnavailableError
 */
export async function readMerged<Row extends PlacedRow, Context>(
  db: Database,
  archives: readonly Archive[],
  page: MergedPage<Row, Context>,
): Promise<Row[]> {
  const { hot, overlap } = page;
  if (overlap === null) return db.all<Row>(hot.sql, ...hot.params);
  return repeatRead(
    () => tryToRead(db, archives, { ...page, overlap }),
    "records keep coming back from an archive",
  );
}

/** @returns null: records came back meanwhile */
async function tryToRead<Row extends PlacedRow, Context>(
  db: Database,
  archives: readonly Archive[],
  page: MergedPage<Row, Context> & { overlap: SqlExpression },
): Promise<Row[] | null> {
  const { overlap, context, hot, limit } = page;
  const [found, own] = (await db.batch([
    statement(
      `SELECT archive, operation, returned, bookmark, ${page.firstKey} AS firstKey, ${context.sql}
       FROM archive_range ${page.isByStamp ? "INDEXED BY archive_range_changed" : ""}
       WHERE kind = ? AND network = ? AND ${overlap.sql}`,
      ...context.params,
      page.kind,
      page.network,
      ...overlap.params,
    ),
    hot,
  ])) as [D1Result<Range & Context>, D1Result<Row>];
  const sign = page.isDescending ? -1 : 1;
  const order = (a: string | number, b: string | number) => (a === b ? 0 : a < b ? -sign : sign);
  const compare = (a: Row, b: Row) => order(page.keyOf(a), page.keyOf(b)) || order(a.id, b.id);
  let rows = own.results;
  const ranges = found.results.toSorted((a, b) => order(a.firstKey ?? "", b.firstKey ?? ""));
  for (const range of ranges) {
    const last = rows.length < limit ? undefined : rows[limit - 1];
    if (last && range.firstKey !== null && order(range.firstKey, page.keyOf(last)) > 0) break;
    const archive = openArchive(archives, range, page);
    const isBeyond = (row: Row) => last !== undefined && compare(row, last) > 0;
    const more = await readArchive(db, { archive, archives, range }, page, isBeyond);
    if (!more) return null;
    const known = new Set(rows.map(({ id }) => id));
    rows = [...rows, ...more.filter(({ id }) => !known.has(id))].sort(compare).slice(0, limit);
  }
  return rows;
}

/**
 * The first rows of a page that an archive has and no other place.
 *
 * @param isBeyond - whether a row is after the page
 * @returns null: records came back from it
 */
async function readArchive<Row extends PlacedRow, Context>(
  db: Database,
  {
    archive,
    archives,
    range,
  }: { archive: ReadArchive; archives: readonly Archive[]; range: Range & Context },
  page: MergedPage<Row, Context>,
  isBeyond: (row: Row) => boolean,
): Promise<Row[] | null> {
  const seen = new Set<string>();
  const rows: Row[] = [];
  for (let after: Row | null = null; ; ) {
    const read: Row[] = await archive(page.buildArchived(range, after));
    const fresh = read.filter(({ id }) => !seen.has(id));
    for (const { id } of fresh) seen.add(id);
    if (fresh.length > 0) {
      const [now, places] = (await db.batch([
        selectRanges(page, { sql: "archive = ?", params: [range.archive] }),
        page.findNamed(range.archive, listPlaces(fresh)),
      ])) as [D1Result<ArchiveRange>, D1Result<{ id: string }>];
      const [state] = now.results;
      if (state?.returned !== range.returned) return null;
      const ids = new Set(places.results.map(({ id }) => id));
      const counted = fresh.filter((row) => ids.has(row.id) && page.isKnown(row, range));
      const mayBeOlder = state.operation !== range.operation && counted.length > 0;
      if (mayBeOlder && !(await areNewest(archives, state, page, counted))) return null;
      rows.push(...counted);
    }
    after = read.at(-1) ?? null;
    const isOver = read.length < page.limit || fresh.length === 0;
    if (isOver || after === null || rows.length >= page.limit || isBeyond(after)) return rows;
  }
}

/** Whether an archive still has the rows as they were read, after moves that the database knows. */
async function areNewest<Row extends PlacedRow, Context>(
  archives: readonly Archive[],
  state: ArchiveState,
  page: MergedPage<Row, Context>,
  rows: readonly Row[],
): Promise<boolean> {
  const query = page.selectPlaces(JSON.stringify(rows.map(({ id }) => id)));
  const newest = await openArchive(archives, state, page)<PlacedRow>(query);
  const places = new Map(newest.map(({ id, place }) => [id, place]));
  return rows.every(({ id, place }) => places.get(id) === place);
}
