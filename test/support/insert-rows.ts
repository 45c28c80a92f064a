import { env } from "cloudflare:workers";

interface Column {
  name: string;
  type: string;
  notnull: number;
  dflt_value: string | null;
}

/**
 * Stores rows as nothing in the service would, for tests of what only reads. What a row leaves out is
 * null, or where that cannot be 0, or the JSON text `{}`.
 */
export async function insertRows(
  table: string,
  rows: readonly Record<string, string | number | null>[],
): Promise<void> {
  const { results } = await env.DB.prepare(`PRAGMA table_info("${table}")`).all<Column>();
  const columns = results.filter(({ dflt_value }) => dflt_value === null);
  const names = columns.map(({ name }) => `"${name}"`).join(", ");
  const marks = columns.map(() => "?").join(", ");
  const valueIn = ({ name, type, notnull }: Column, row: (typeof rows)[number]) =>
    row[name] ?? (notnull === 0 ? null : type.toUpperCase() === "INTEGER" ? 0 : "{}");
  const insert = env.DB.prepare(`INSERT INTO "${table}" (${names}) VALUES (${marks})`);
  await env.DB.batch(
    rows.map((row) => insert.bind(...columns.map((column) => valueIn(column, row)))),
  );
}
