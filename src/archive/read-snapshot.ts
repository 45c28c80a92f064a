import type { Database, Statement } from "../db/client.ts";
import type { SqlExpression } from "../db/clock.ts";
import { firstIdAt } from "../db/id.ts";
import type { ArchivedKind } from "./archive-tables.ts";
import type { Archive } from "./open-archives.ts";
import { type ArchiveState, openArchive, selectRanges } from "./read-archive.ts";

/** An archive of immutable records, as the database knows it. */
export interface SnapshotRange extends ArchiveState {
  leastId: string;
  greatestId: string;
  /** Null: its kind has none. */
  greatestChangedAt: number | null;
}

/** Rows of immutable records, by a condition that is the same in the database and its archives. */
export interface SnapshotQuery {
  kind: Exclude<ArchivedKind, "escrow">;
  /** SQL condition on `archive_range`, that an archive may have rows. Default: each may. */
  overlap?: SqlExpression;
  /** The rows of a database. @param condition - SQL condition on the records, which is true of those that count */
  select(condition: string): Statement;
}

/**
 * Reads rows of the database, and those that archives had at the same moment. A record that moves meanwhile is
 * read in the database: the archive has that copy by a later operation. So no record is missing, and none is read twice.
 *
 * @param isNeeded - whether an archive is asked, by the database's rows. Default: each is.
 * @returns the database's rows, then those of each archive
 * @throws ArchiveBehindError
 */
export async function readSnapshot<Row>(
  db: Pick<Database, "batch">,
  archives: readonly Archive[],
  { kind, overlap = { sql: "TRUE", params: [] }, select }: SnapshotQuery,
  isNeeded: (range: SnapshotRange, own: readonly Row[]) => boolean = () => true,
): Promise<Row[][]> {
  const subject = { kind, network: "Core" as const };
  const [ranges, hot] = (await db.batch([
    selectRanges(
      subject,
      { sql: `count > 0 AND ${overlap.sql}`, params: overlap.params },
      ", least_id AS leastId, greatest_id AS greatestId, greatest_changed_at AS greatestChangedAt",
    ),
    select("TRUE"),
  ])) as [D1Result<SnapshotRange>, D1Result<Row>];
  const own = hot.results;
  const needed = ranges.results.filter((range) => isNeeded(range, own));
  const archived = await Promise.all(
    needed.map((range) =>
      openArchive(archives, range, subject)<Row>(select(`operation <= ${range.operation}`)),
    ),
  );
  return [own, ...archived];
}

/**
 * Reads a page of records by descending ids, as `readSnapshot`. Archives whose records all follow a page that is
 * full are not asked.
 *
 * @param greatestIdOf - no row of the archive has a greater id
 */
export async function readSnapshotPage<Row extends { id: string }>(
  db: Pick<Database, "batch">,
  archives: readonly Archive[],
  query: SnapshotQuery & { limit: number },
  greatestIdOf: (range: SnapshotRange) => string = ({ greatestId }) => greatestId,
): Promise<Row[]> {
  const { limit } = query;
  const parts = await readSnapshot<Row>(db, archives, query, (range, own) => {
    const last = own.length < limit ? undefined : own.at(-1);
    return last === undefined || greatestIdOf(range) > last.id;
  });
  return parts
    .flat()
    .sort((a, b) => (a.id < b.id ? 1 : -1))
    .slice(0, limit);
}

/**
 * Finds archives that may have a record of some ids: SQL condition on `archive_range`.
 *
 * @param before - the ids are less
 * @param from - the ids are of records created since, epoch milliseconds
 */
export function overlapsIds({
  before,
  from = 0,
}: {
  before?: string | undefined;
  from?: number | undefined;
}): SqlExpression {
  // Any text is less than `~`.
  return {
    sql: "least_id < ? AND greatest_id >= ?",
    params: [before ?? "~", firstIdAt(from)],
  };
}
