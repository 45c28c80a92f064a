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
  const row = Object.create(prototypeOf(columns)) as { arrays: unknown[][] };
  row.arrays = JSON.parse(json) as unknown[][];
  return row as Row;
}

/** By columns. A page parses a hundred rows of the same. */
const prototypes = new Map<string, object>();

/** A getter for each column: an object that fifty assignments build is a slow dictionary. */
function prototypeOf(columns: string): object {
  let prototype = prototypes.get(columns);
  if (!prototype) {
    prototype = {};
    for (const { name, array, position } of splitColumns(columns))
      Object.defineProperty(prototype, name, {
        get(this: { arrays: unknown[][] }) {
          return this.arrays[array]?.[position];
        },
      });
    prototypes.set(columns, prototype);
  }
  return prototype;
}

interface Column {
  sql: string;
  name: string;
  /** Which of the arrays has its value, and where. */
  array: number;
  position: number;
}

function splitColumns(columns: string): readonly Column[] {
  return splitOutsideParentheses(columns).map((column, i) => {
    const [, sql = "", alias] = /^(.*?)(?: AS (\w+))?$/is.exec(column.trim()) ?? [];
    return {
      sql,
      name: alias ?? sql.replace(/^\w+\./, ""),
      array: Math.floor(i / MAX_ARGUMENTS),
      position: i % MAX_ARGUMENTS,
    };
  });
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
