/**
 * SQL of a row's columns as one JSON text, for a query that needs only a few of its rows whole. An
 * array, since a function of D1 takes 32 arguments.
 *
 * @param columns - comma separated
 */
export function jsonRowSql(columns: string): string {
  return `json_array(${splitColumns(columns)
    .map(({ sql }) => sql)
    .join(", ")})`;
}

/** The row from `jsonRowSql` of the same columns, by their aliases or by their names without table aliases. */
export function parseJsonRow<Row>(columns: string, json: string): Row {
  const values = JSON.parse(json) as unknown[];
  return Object.fromEntries(splitColumns(columns).map(({ name }, i) => [name, values[i]])) as Row;
}

function splitColumns(columns: string): { sql: string; name: string }[] {
  return columns.split(",").map((column) => {
    const [sql = "", alias] = column.trim().split(/ AS /i);
    return { sql, name: alias ?? sql.replace(/^\w+\./, "") };
  });
}
