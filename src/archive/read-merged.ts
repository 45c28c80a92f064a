import {
  ArchiveBehindError,
  type Database,
  DatabaseUnavailableError,
  statement,
} from "../db/client.ts";
import type { SqlExpression } from "../db/clock.ts";
import type { ArchivedKind, ArchivedScope } from "./archive-tables.ts";
import { type Archive, findArchive, selectOperation } from "./open-archives.ts";

/** How often a page is begun again because records came back from an archive meanwhile. */
const MAX_ATTEMPTS = 4;

/** A row of a page. */
export interface MergedRow {
  id: string;
  /** Of a row of an archive: JSON by which the database finds its place, with its revision. */
  place?: string;
}

/** A page over the database and its archives. `Context` is what the database adds for the archives. */
export interface MergedPage<Row extends MergedRow, Context> {
  kind: ArchivedKind;
  network: ArchivedScope;
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
  /** Of rows of an archive, those `id`s that are in it and nowhere else. @param places - JSON array of `place` */
  findNamed(archive: number, places: string): SqlExpression;
  /** `id` and `place` of an archive's rows. @param ids - JSON array */
  selectPlaces(ids: string): SqlExpression;
}

/** An archive as the database knows it. */
export interface ArchiveState {
  /** Its number. */
  archive: number;
  operation: number;
  bookmark: string | null;
}

interface Range extends ArchiveState {
  returned: number;
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
export async function readMerged<Row extends MergedRow, Context>(
  db: Database,
  archives: readonly Archive[],
  page: MergedPage<Row, Context>,
): Promise<Row[]> {
  const { hot, overlap } = page;
  if (overlap === null) return db.all<Row>(hot.sql, ...hot.params);
  for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt++) {
    const rows = await tryToRead(db, archives, { ...page, overlap });
    if (rows) return rows;
  }
  throw new DatabaseUnavailableError("records keep coming back from an archive");
}

/** @returns null: records came back meanwhile */
async function tryToRead<Row extends MergedRow, Context>(
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
    statement(hot.sql, ...hot.params),
  ])) as [D1Result<Range & Context>, D1Result<Row>];
  const sign = page.isDescending ? -1 : 1;
  const order = (a: string | number, b: string | number) => (a === b ? 0 : a < b ? -sign : sign);
  const compare = (a: Row, b: Row) => order(page.keyOf(a), page.keyOf(b)) || order(a.id, b.id);
  let rows = own.results;
  const ranges = found.results.toSorted((a, b) => order(a.firstKey ?? "", b.firstKey ?? ""));
  for (const range of ranges) {
    const last = rows.length < limit ? undefined : rows[limit - 1];
    if (last && range.firstKey !== null && order(range.firstKey, page.keyOf(last)) > 0) break;
    const archive = openArchive(archives, range, page.kind, page.network);
    const isBeyond = (row: Row) => last !== undefined && compare(row, last) > 0;
    const more = await readArchive(db, { archive, archives, range }, page, isBeyond);
    if (!more) return null;
    const known = new Set(rows.map(({ id }) => id));
    rows = [...rows, ...more.filter(({ id }) => !known.has(id))].sort(compare).slice(0, limit);
  }
  return rows;
}

/** Reads rows of an archive, in one session. @throws ArchiveBehindError */
export type ReadArchive = <Row>(query: SqlExpression) => Promise<Row[]>;

/** Begins a session with an archive at least as new as the database knows it. @throws ArchiveBehindError */
export function openArchive(
  archives: readonly Archive[],
  { archive: number, operation, bookmark }: ArchiveState,
  kind: ArchivedKind,
  network: ArchivedScope,
): ReadArchive {
  const archive = findArchive(archives, number);
  const session = archive.open({ reads: bookmark === null ? "primary" : { bookmark } });
  return async <Row>({ sql, params }: SqlExpression) => {
    const [has, read] = (await session.batch([
      selectOperation(kind, network),
      statement(sql, ...params),
    ])) as [D1Result<{ operation: number }>, D1Result<Row>];
    if ((has.results[0]?.operation ?? 0) < operation)
      throw new ArchiveBehindError(`${archive.name}: it has less than was moved there`);
    return read.results;
  };
}

/** Reads rows of an archive at least as new as the database knows it. @throws ArchiveBehindError */
export function readFromArchive<Row>(
  archives: readonly Archive[],
  state: ArchiveState,
  kind: ArchivedKind,
  network: ArchivedScope,
  query: SqlExpression,
): Promise<Row[]> {
  return openArchive(archives, state, kind, network)<Row>(query);
}

/**
 * The first rows of a page that an archive has and no other place.
 *
 * @param isBeyond - whether a row is after the page
 * @returns null: records came back from it
 */
async function readArchive<Row extends MergedRow, Context>(
  db: Database,
  {
    archive,
    archives,
    range,
  }: { archive: ReadArchive; archives: readonly Archive[]; range: Range & Context },
  page: MergedPage<Row, Context>,
  isBeyond: (row: Row) => boolean,
): Promise<Row[] | null> {
  const keys = [page.kind, page.network, range.archive];
  const seen = new Set<string>();
  const rows: Row[] = [];
  for (let after: Row | null = null; ; ) {
    const read: Row[] = await archive(page.buildArchived(range, after));
    const fresh = read.filter(({ id }) => !seen.has(id));
    for (const { id } of fresh) seen.add(id);
    if (fresh.length > 0) {
      const named = page.findNamed(range.archive, `[${fresh.map(({ place }) => place).join(",")}]`);
      const [now, places] = (await db.batch([
        statement(
          `SELECT archive, operation, returned, bookmark FROM archive_range
           WHERE kind = ? AND network = ? AND archive = ?`,
          ...keys,
        ),
        statement(named.sql, ...named.params),
      ])) as [D1Result<ArchiveState & { returned: number }>, D1Result<{ id: string }>];
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
async function areNewest<Row extends MergedRow, Context>(
  archives: readonly Archive[],
  state: ArchiveState,
  { kind, network, selectPlaces }: MergedPage<Row, Context>,
  rows: readonly Row[],
): Promise<boolean> {
  const query = selectPlaces(JSON.stringify(rows.map(({ id }) => id)));
  const newest = await readFromArchive<MergedRow>(archives, state, kind, network, query);
  const places = new Map(newest.map(({ id, place }) => [id, place]));
  return rows.every(({ id, place }) => places.get(id) === place);
}
