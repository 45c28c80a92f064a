import type { SQLiteTable } from "drizzle-orm/sqlite-core";
import type { Statement } from "../db/client.ts";
import type { ArchivedKind } from "./archive-tables.ts";

/** A kind of records that move to archives, as its feature declares it. */
export interface MovedKind {
  kind: ArchivedKind;
  /** Of the records, with `id`, `network` and `revision`. Each write to a record or its rows raises the revision. */
  table: SQLiteTable;
  /** Tables of what belongs to a record, by `record_id`. */
  children: readonly SQLiteTable[];
  /** Columns whose least and greatest values `archive_range` stores, as `least_` and `greatest_` with the name. */
  rangeColumns: readonly string[];
  /** SQL of the rows among which final records are found by `network` and `changedAt`, to follow FROM. */
  finalRows: string;
  /** When a record was last changed, epoch milliseconds. */
  changedAt: string;
  /** SQL on a row of the table: nothing will change the record, and the database has it. */
  isFinalSql: string;
  /** SQL on a row of the table: how many rows belong to the record. */
  stepsSql: string;
  /** SQL on a row of the table: JSON of what `buildMoveStatements` needs. */
  summarySql: string;
  /** The statements that say which archive has records from now on. @param summaries - from `summarySql` */
  buildMoveStatements(archive: number, summaries: readonly string[]): Statement[];
}
