import { db } from "../db/client.ts";

/**
 * The loopback origins that guarded fetches may reach: those of `LOOPBACK_ORIGINS`, and none as
 * soon as any source is on Mainnet.
 *
 * @param deadline - epoch milliseconds
 */
export async function loopbackOrigins(
  env: { DB: D1Database; LOOPBACK_ORIGINS?: string },
  deadline: number,
): Promise<string[]> {
  if (!env.LOOPBACK_ORIGINS) return [];
  const mainnet = await db(env, undefined, { deadline }).all(
    `SELECT 1 FROM payment_source WHERE network = 'Mainnet' AND deleted_at IS NULL
     UNION ALL SELECT 1 FROM registry_source WHERE network = 'Mainnet' AND deleted_at IS NULL
     LIMIT 1`,
  );
  if (mainnet.length > 0) return [];
  return env.LOOPBACK_ORIGINS.split(",").map((origin) => origin.trim());
}
