import { env } from "cloudflare:workers";

/** Has every row that is written from now on counted, whatever its table, but for those left out. */
export async function countWrites(leftOut: readonly string[] = []): Promise<void> {
  const { results } = await env.DB.prepare(
    `SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE '%cf_%'
       AND name NOT LIKE 'sqlite_%'`,
  ).all<{ name: string }>();
  const counted = results.filter(({ name }) => !leftOut.includes(name));
  const triggers = counted.flatMap(({ name }) =>
    ["INSERT", "UPDATE", "DELETE"].map(
      (event) => `CREATE TRIGGER "counts ${event} ${name}" AFTER ${event} ON "${name}"
        BEGIN UPDATE written SET n = n + 1; END`,
    ),
  );
  const statements = [
    "CREATE TABLE written (n INTEGER NOT NULL)",
    "INSERT INTO written VALUES (0)",
    ...triggers,
  ];
  await env.DB.batch(statements.map((sql) => env.DB.prepare(sql)));
}

/** Rows written so far: two of these are equal when nothing was written between them. */
export const rowsWritten = () => env.DB.prepare("SELECT n FROM written").first<number>("n");
