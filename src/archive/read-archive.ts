import {
  ArchiveBehindError,
  DatabaseUnavailableError,
  type Statement,
  statement,
} from "../db/client.ts";
import type { SqlExpression } from "../db/clock.ts";
import type { ArchivedKind, ArchivedScope } from "./archive-tables.ts";
import { type Archive, findArchive, selectOperation } from "./open-archives.ts";

/** Whose records are read. */
export interface ArchivedSubject {
  kind: ArchivedKind;
  network: ArchivedScope;
}

/** An archive as the database knows it. */
export interface ArchiveState {
  /** Its number. */
  archive: number;
  operation: number;
  bookmark: string | null;
}

/** A row of `selectRanges`. */
export interface ArchiveRange extends ArchiveState {
  returned: number;
}

/**
 * Selects what the database knows of archives.
 *
 * @param condition - SQL condition on `archive_range`
 * @param columns - SQL of further columns, each after a comma
 */
export function selectRanges(
  { kind, network }: ArchivedSubject,
  condition: SqlExpression,
  columns = "",
): Statement {
  return statement(
    `SELECT archive, operation, returned, bookmark ${columns} FROM archive_range
     WHERE kind = ? AND network = ? AND ${condition.sql} ORDER BY archive`,
    kind,
    network,
    ...condition.params,
  );
}

/** Reads rows of an archive, in one session. @throws ArchiveBehindError */
export type ReadArchive = <Row>(query: SqlExpression) => Promise<Row[]>;

/** Begins a session with an archive at least as new as the database knows it. @throws ArchiveBehindError */
export function openArchive(
  archives: readonly Archive[],
  { archive: number, operation, bookmark }: ArchiveState,
  { kind, network }: ArchivedSubject,
): ReadArchive {
  const archive = findArchive(archives, number);
  const session = archive.open({ reads: bookmark === null ? "primary" : { bookmark } });
  return async <Row>(query: SqlExpression) => {
    const [has, read] = (await session.batch([selectOperation(kind, network), query])) as [
      D1Result<{ operation: number }>,
      D1Result<Row>,
    ];
    if ((has.results[0]?.operation ?? 0) < operation)
      throw new ArchiveBehindError(`${archive.name}: it has less than was moved there`);
    return read.results;
  };
}

/** How often a read is begun again because records moved or came back meanwhile. */
const MAX_ATTEMPTS = 4;

/**
 * Repeats a read whose records moved or came back meanwhile.
 *
 * @param read - null: begin again
 * @param reason - of the error
 * @throws DatabaseUnavailableError
 */
export async function repeatRead<Result>(
  read: () => Promise<Result | null>,
  reason: string,
): Promise<Result> {
  for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt++) {
    const result = await read();
    if (result !== null) return result;
  }
  throw new DatabaseUnavailableError(reason);
}

/** A row of the database or of an archive. */
export interface PlacedRow {
  id: string;
  /** Of a row of an archive: JSON by which the database finds its place, with its revision. */
  place?: string;
}

/** Of rows of an archive, the `id`s of those that are in it and nowhere else. @param places - JSON array of `place` */
export type FindNamed = (archive: number, places: string) => SqlExpression;

/** JSON array of the places of an archive's rows. */
export function listPlaces(rows: readonly PlacedRow[]): string {
  return `[${rows.map(({ place }) => place).join(",")}]`;
}
