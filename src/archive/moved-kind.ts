import type { SQLiteTable } from "drizzle-orm/sqlite-core";
import type { Statement } from "../db/client.ts";
import type { ArchivedKind, ArchivedScope } from "./archive-tables.ts";

/** A kind of records that move to archives, as its feature declares it. */
export interface MovedKind {
  kind: ArchivedKind;
  /** What has such records. */
  scopes: readonly ArchivedScope[];
  /** SQL condition on a row of the table: the record belongs to a scope, the parameter. */
  isOfScopeSql: string;
  /**
   * Whether a final record never changes or returns. Ids then begin with the time of creation, and the archive's
   * table has an `operation` more: that of the copy. The database says up to which operation copies count.
   */
  isImmutable: boolean;
  /** Of the records, with `id`. */
  table: SQLiteTable;
  /** Columns that the archive's table has besides. Each has its SQL on a row of the database's table. */
  addedColumns: Readonly<Record<string, string>>;
  /** SQL on a row of the table. Each write to a record or its rows changes the value. */
  revisionSql: string;
  /** Tables of what belongs to a record. */
  children: readonly SQLiteTable[];
  /** Column of the child tables: the record. */
  ownerColumn: string;
  /**
   * Values whose least and greatest `archive_range` stores, in columns `least_` and `greatest_` with the name.
   * Each has its SQL on a row of the table.
   */
  rangeColumns: Readonly<Record<string, string>>;
  /** Records of a portion. */
  portionRecords: number;
  /** Age from which records move, if it is less than that of the deployment, milliseconds. */
  maxAgeMs: number;
  /** SQL of the rows among which final records are found by scope and `changedAt`, or id, to follow FROM. */
  finalRows: string;
  /** When a record was last changed, epoch milliseconds. */
  changedAt: string;
  /** SQL on a row of the table: nothing will change the record, and the database has it. @param now - epoch milliseconds */
  isFinalSql(now: number): string;
  /** SQL on a row of the table: how many rows belong to the record. */
  stepsSql: string;
  /** SQL on a row of the table: JSON of what `buildMoveStatements` needs. */
  summarySql: string;
  /** The statements that say which archive has records from now on. @param summaries - from `summarySql` */
  buildMoveStatements(archive: number, summaries: readonly string[]): Statement[];
}
