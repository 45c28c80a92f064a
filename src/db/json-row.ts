/** A function of D1 takes at most 32 arguments. */
const MAX_ARGUMENTS = 32;

/**
 * SQL of a row's columns as one JSON text, for a query that needs only a few of its rows whole. It is an
 * array of arrays, each of as many columns as a function takes.
 *
 * @param columns - comma separated
 */
export function jsonRowSql(columns: string): string {
  const all = splitColumns(columns).map(({ sql }) => sql);
  const arrays = Array.from({ length: Math.ceil(all.length / MAX_ARGUMENTS) }, (_, i) =>
    all.slice(i * MAX_ARGUMENTS, (i + 1) * MAX_ARGUMENTS),
  );
  return `json_array(${arrays.map((some) => `json_array(${some.join(", ")})`).join(", ")})`;
}

/** The row from `jsonRowSql` of the same columns, by their aliases or by their names without table aliases. */
export function parseJsonRow<Row>(columns: string, json: string): Row {
  const arrays = JSON.parse(json) as unknown[][];
  const row: Record<string, unknown> = {};
  for (const { name, array, position } of splitColumns(columns))
    row[name] = arrays[array]?.[position];
  return row as Row;
}

interface Column {
  sql: string;
  name: string;
  /** Which of the arrays has its value, and where. */
  array: number;
  position: number;
}

/** Pages parse hundreds of rows of the same columns. */
const splitBefore = new Map<string, readonly Column[]>();

function splitColumns(columns: string): readonly Column[] {
  const known = splitBefore.get(columns);
  if (known) return known;
  const split = splitOutsideParentheses(columns).map((column, i) => {
    const [, sql = "", alias] = /^(.*?)(?: AS (\w+))?$/is.exec(column.trim()) ?? [];
    return {
      sql,
      name: alias ?? sql.replace(/^\w+\./, ""),
      array: Math.floor(i / MAX_ARGUMENTS),
      position: i % MAX_ARGUMENTS,
    };
  });
  splitBefore.set(columns, split);
  return split;
}

function splitOutsideParentheses(columns: string): string[] {
  const parts = [""];
  let depth = 0;
  for (const token of columns.split(/([(),])/)) {
    if (token === "(") depth++;
    if (token === ")") depth--;
    if (token === "," && depth === 0) parts.push("");
    else parts.push(parts.pop() + token);
  }
  return parts;
}
