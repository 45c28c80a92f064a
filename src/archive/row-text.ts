/** Rows as text that says every value of each with its type, so that a copy is compared as text. */
import type { SQLiteTable } from "drizzle-orm/sqlite-core";
import { getTableConfig } from "drizzle-orm/sqlite-core";
import { type Statement, statement } from "../db/client.ts";
import { joinJsonTexts } from "../db/join-json-texts.ts";
import { jsonRowSql } from "../db/json-row.ts";

/** A function of D1 takes at most 32 arguments; see `jsonRowSql`. */
const MAX_ARGUMENTS = 32;

interface ColumnText {
  name: string;
  /** SQL of the value as JSON can have it. */
  encoded: string;
  /** SQL that takes it from the row's JSON `value`. */
  decoded: string;
}

/** @param added - SQL of texts that follow the table's columns, by name */
function readColumns(
  table: SQLiteTable,
  added: Readonly<Record<string, string>> = {},
): ColumnText[] {
  const columns = getTableConfig(table).columns.map((column) => ({
    ...{ name: column.name, sql: column.name },
    isBlob: column.getSQLType() === "blob",
  }));
  // Of JSON that SQL makes, the text.
  const more = Object.entries(added).map(([name, sql]) => ({
    ...{ name, sql: `${sql} || ''` },
    isBlob: false,
  }));
  return [...columns, ...more].map(({ name, sql, isBlob }, i) => {
    const value = `value->>'$[${Math.floor(i / MAX_ARGUMENTS)}][${i % MAX_ARGUMENTS}]'`;
    if (!isBlob) return { name, encoded: sql, decoded: value };
    // Such a column has bytes or text.
    return {
      name,
      encoded: `iif(typeof(${name}) = 'blob', 'b' || hex(${name}), 't' || ${name})`,
      decoded: `iif(substr(${value}, 1, 1) = 'b', unhex(substr(${value}, 2)), substr(${value}, 2))`,
    };
  });
}

/** SQL of a row of a table as text. @param added - as for `readColumns` */
export function rowTextSql(table: SQLiteTable, added?: Readonly<Record<string, string>>): string {
  return jsonRowSql(
    readColumns(table, added)
      .map(({ encoded }) => encoded)
      .join(", "),
  );
}

/**
 * The statements that store rows from their texts.
 *
 * @param added - what the texts have beside the table's columns, by name
 * @param more - further columns
 */
export function insertRowTexts(
  table: SQLiteTable,
  texts: readonly string[],
  added?: Readonly<Record<string, string>>,
  more: Readonly<Record<string, number>> = {},
): Statement[] {
  const columns = readColumns(table, added);
  const names = [...columns.map(({ name }) => name), ...Object.keys(more)];
  const values = [...columns.map(({ decoded }) => decoded), ...Object.values(more)];
  const sql = `INSERT INTO ${getTableConfig(table).name} (${names.join(", ")})
     SELECT ${values.join(", ")} FROM json_each(?)`;
  return joinJsonTexts(texts).map((rows) => statement(sql, rows));
}
