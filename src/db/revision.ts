import { type SQL, sql } from "drizzle-orm";
import type { SQLiteColumn } from "drizzle-orm/sqlite-core";

/**
 * SQL that counts a row's revision up; null once it is not the one that was read, which aborts the batch, as
 * `violates` tells.
 */
export function nextRevisionSql(column: SQLiteColumn, read: number): SQL {
  return sql`iif(${column} = ${read}, ${column} + 1, NULL)`;
}
