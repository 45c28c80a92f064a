/** Records with all that belongs to them as texts, which the database and an archive must have alike. */
import { getTableConfig, type SQLiteTable } from "drizzle-orm/sqlite-core";
import { type Statement, statement } from "../db/client.ts";
import type { MovedKind } from "./moved-kind.ts";
import { rowTextSql } from "./row-text.ts";

/** A record as the database and its copy must have it. */
export interface RecordText {
  id: string;
  row: string;
  /** Of each child table, the rows in the order of their keys. */
  children: string[][];
}

/** Selects the rows of each child table. @param listed - ids of records, a JSON array */
export function selectChildTexts(
  { children, ownerColumn }: MovedKind,
  listed: string,
): Statement[] {
  return children.map((table) => {
    const { name, primaryKeys, columns } = getTableConfig(table);
    const keys = primaryKeys[0]?.columns ?? columns.filter(({ primary }) => primary);
    return statement(
      `SELECT ${ownerColumn} AS id, ${rowTextSql(table)} AS row FROM ${name}
       WHERE ${ownerColumn} IN (SELECT value FROM json_each(?)) ORDER BY ${keys.map((key) => key.name).join(", ")}`,
      listed,
    );
  });
}

/** Puts rows of the child tables with their records. */
export function toRecordTexts<Own extends { id: string; row: string }>(
  own: readonly Own[],
  children: readonly D1Result[],
): (Own & RecordText)[] {
  const byRecord = children.map(({ results }) =>
    Map.groupBy(results as { id: string; row: string }[], ({ id }) => id),
  );
  return own.map((record) => ({
    ...record,
    children: byRecord.map((rows) => (rows.get(record.id) ?? []).map(({ row }) => row)),
  }));
}

export function areSame(copied: readonly RecordText[], records: readonly RecordText[]): boolean {
  const toText = (all: readonly RecordText[]) =>
    JSON.stringify(all.map(({ id, row, children }) => [id, row, children]));
  return toText(copied) === toText(records);
}

/** Deletes records with all that belongs to them. @param listed - their ids, a JSON array */
export function deleteRecords(
  { table, children, ownerColumn }: MovedKind,
  listed: string,
): Statement[] {
  const deleteFrom = (one: SQLiteTable, column: string) =>
    statement(
      `DELETE FROM ${getTableConfig(one).name}
       WHERE ${column} IN (SELECT value FROM json_each(?))`,
      listed,
    );
  return [deleteFrom(table, "id"), ...children.map((child) => deleteFrom(child, ownerColumn))];
}
