/** Sets a running service's database back, as D1 Time Travel does: in place, all at once, and no object with it. */
import type { D1Database } from "@cloudflare/workers-types";

/** Rows that one statement writes. */
const ROWS_AT_ONCE = 200;

type Row = Record<string, unknown>;

/** Keeps the database as it is at one moment. @returns what sets it back to that */
export async function saveDatabase(d1: D1Database): Promise<() => Promise<void>> {
  const { results: tables } = await d1
    .prepare(
      `SELECT name FROM sqlite_master
       WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' AND name NOT LIKE '\\_cf\\_%' ESCAPE '\\'`,
    )
    .all<{ name: string }>();
  // A batch is one transaction: the tables are of the same moment.
  const kept = await d1.batch<Row>(tables.map(({ name }) => d1.prepare(`SELECT * FROM "${name}"`)));
  const statements = tables.flatMap(({ name }, i) => [
    d1.prepare(`DELETE FROM "${name}"`),
    ...inserts(d1, name, kept[i]?.results ?? []),
  ]);
  return async () => {
    await d1.batch(statements);
  };
}

/** Numbers and texts keep their kinds in JSON. A blob becomes an object with its bytes in hex. */
function inserts(d1: D1Database, table: string, rows: readonly Row[]) {
  const columns = Object.keys(rows[0] ?? {});
  const names = columns.map((column) => `"${column}"`).join(", ");
  const values = columns.map(
    (_, i) =>
      `iif(json_type(value, '$[${i}]') = 'object', unhex(value->>'$[${i}].hex'), value->>${i})`,
  );
  const insert = d1.prepare(
    `INSERT INTO "${table}" (${names}) SELECT ${values.join(", ")} FROM json_each(?)`,
  );
  const lists = rows.map((row) => columns.map((column) => toJsonValue(row[column])));
  return Array.from({ length: Math.ceil(rows.length / ROWS_AT_ONCE) }, (_, i) =>
    insert.bind(JSON.stringify(lists.slice(i * ROWS_AT_ONCE, (i + 1) * ROWS_AT_ONCE))),
  );
}

/** D1 returns a blob as a list of its bytes. */
function toJsonValue(value: unknown): unknown {
  if (!Array.isArray(value) && !(value instanceof ArrayBuffer)) return value;
  return { hex: Buffer.from(value as number[]).toString("hex") };
}
