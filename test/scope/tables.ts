import { env } from "cloudflare:workers";

/** All rows of all tables, each as JSON, by the name of the table. */
export type Tables = ReadonlyMap<string, readonly string[]>;

/** Rows that tell of a request, and of nothing that it changed. */
export const TRACES: readonly string[] = ["audit", "idempotency"];

/** Reads the database. */
export async function readTables(): Promise<Tables> {
  const { results } = await env.DB.prepare(
    `SELECT name FROM sqlite_master WHERE type = 'table'
       AND name NOT LIKE 'sqlite_%' AND name NOT LIKE '%cf_%' AND name <> 'written'
     ORDER BY name`,
  ).all<{ name: string }>();
  const names = results.map(({ name }) => name);
  const read = await env.DB.batch(names.map((name) => env.DB.prepare(`SELECT * FROM "${name}"`)));
  return new Map(
    names.map((name, i) => [name, (read[i]?.results ?? []).map((row) => JSON.stringify(row))]),
  );
}

/** What differs between two readings, but for the traces of requests: a line for each row. */
export function compareTables(before: Tables, after: Tables): string[] {
  return [...after]
    .filter(([name]) => !TRACES.includes(name))
    .flatMap(([name, rows]) => {
      const earlier = before.get(name) ?? [];
      return [
        ...rows.filter((row) => !earlier.includes(row)).map((row) => `${name} has ${row}`),
        ...earlier.filter((row) => !rows.includes(row)).map((row) => `${name} had ${row}`),
      ];
    });
}
