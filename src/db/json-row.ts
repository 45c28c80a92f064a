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
  const row: Record<string, unknown> = {};
  for (const [i, { name }] of splitColumns(columns).entries()) row[name] = values[i];
  return row as Row;
}

interface Column {
  sql: string;
  name: string;
}

/** Pages parse hundreds of rows of the same columns. */
const splitBefore = new Map<string, readonly Column[]>();

function splitColumns(columns: string): readonly Column[] {
  const known = splitBefore.get(columns);
  if (known) return known;
  const split = columns.split(",").map((column) => {
    const [sql = "", alias] = column.trim().split(/ AS /i);
    return { sql, name: alias ?? sql.replace(/^\w+\./, "") };
  });
  splitBefore.set(columns, split);
  return split;
}
