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

function readColumns(table: SQLiteTable): ColumnText[] {
  return getTableConfig(table).columns.map((column, i) => {
    const { name } = column;
    const value = `value->>'$[${Math.floor(i / MAX_ARGUMENTS)}][${i % MAX_ARGUMENTS}]'`;
    if (column.getSQLType() !== "blob") return { name, encoded: name, decoded: value };
    // Such a column has bytes or text.
    return {
      name,
      encoded: `iif(typeof(${name}) = 'blob', 'b' || hex(${name}), 't' || ${name})`,
      decoded: `iif(substr(${value}, 1, 1) = 'b', unhex(substr(${value}, 2)), substr(${value}, 2))`,
    };
  });
}

/** SQL of a row of a table as text. */
export function rowTextSql(table: SQLiteTable): string {
  return jsonRowSql(
    readColumns(table)
      .map(({ encoded }) => encoded)
      .join(", "),
  );
}

/** The statements that store rows from their texts. @param more - columns beside those of the table */
export function insertRowTexts(
  table: SQLiteTable,
  texts: readonly string[],
  more: Readonly<Record<string, number>> = {},
): Statement[] {
  const columns = readColumns(table);
  const names = [...columns.map(({ name }) => name), ...Object.keys(more)];
  const values = [...columns.map(({ decoded }) => decoded), ...Object.values(more)];
  const sql = `INSERT INTO ${getTableConfig(table).name} (${names.join(", ")})
     SELECT ${values.join(", ")} FROM json_each(?)`;
  return joinJsonTexts(texts).map((rows) => statement(sql, rows));
}
