/**
 * SQL of a row's columns as one JSON text, for a query that needs only a few of its rows whole. An
 * array, since a function of D1 takes 32 arguments.
 *
 * @param columns - comma separated
 */
export function jsonRow(columns: string): string {
  return `json_array(${columns})`;
}

/** The row from `jsonRow` of the same columns; names are without table aliases. */
export function parseJsonRow<Row>(columns: string, json: string): Row {
  const values = JSON.parse(json) as unknown[];
  const names = columns.split(",").map((column) => column.trim().replace(/^\w+\./, ""));
  return Object.fromEntries(names.map((name, i) => [name, values[i]])) as Row;
}
