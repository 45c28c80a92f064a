import { env } from "cloudflare:workers";

/** Keeps the database as it is now. @returns what sets it back to that, as a restore of D1 does */
export async function saveDatabase(): Promise<() => Promise<void>> {
  const { results: tables } = await env.DB.prepare(
    `SELECT name FROM sqlite_master WHERE type = 'table'
       AND name NOT LIKE 'sqlite_%' AND name NOT LIKE '%cf_%'`,
  ).all<{ name: string }>();
  const restore: D1PreparedStatement[] = [];
  for (const { name } of tables) {
    const { results } = await env.DB.prepare(`SELECT * FROM "${name}"`).all();
    restore.push(env.DB.prepare(`DELETE FROM "${name}"`));
    for (const row of results) {
      const columns = Object.keys(row).map((column) => `"${column}"`);
      const values = columns.map(() => "?");
      restore.push(
        env.DB.prepare(`INSERT INTO "${name}" (${columns}) VALUES (${values})`).bind(
          ...Object.values(row),
        ),
      );
    }
  }
  return async () => {
    await env.DB.batch(restore);
  };
}
