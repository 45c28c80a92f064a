import { type Database, openDb } from "./client.ts";

/**
 * Whether any source is on Mainnet: what only development may do ends then.
 *
 * @param deadline - epoch milliseconds
 * @param core - a database whose reads are sent together with others
 */
export async function hasMainnetSource(
  env: { DB: D1Database },
  deadline: number,
  core: Database = openDb(env, undefined, { deadline }),
): Promise<boolean> {
  const found = await core.all(
    `SELECT 1 FROM payment_source WHERE network = 'Mainnet' AND deleted_at IS NULL
     UNION ALL SELECT 1 FROM registry_source WHERE network = 'Mainnet' AND deleted_at IS NULL
     LIMIT 1`,
  );
  return found.length > 0;
}
