import { openDb } from "./client.ts";

/**
 * Whether any source is on Mainnet: what only development may do ends then.
 *
 * @param deadline - epoch milliseconds
 */
export async function hasMainnetSource(env: { DB: D1Database }, deadline: number) {
  const found = await openDb(env, undefined, { deadline }).all(
    `SELECT 1 FROM payment_source WHERE network = 'Mainnet' AND deleted_at IS NULL
     UNION ALL SELECT 1 FROM registry_source WHERE network = 'Mainnet' AND deleted_at IS NULL
     LIMIT 1`,
  );
  return found.length > 0;
}
