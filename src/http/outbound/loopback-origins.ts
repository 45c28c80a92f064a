import type { Database } from "../../db/client.ts";
import { hasMainnetSource } from "../../db/mainnet-sources.ts";

/**
 * The loopback origins that guarded fetches may reach: those of `LOOPBACK_ORIGINS`. There are none if any
 * source is on Mainnet.
 *
 * @param deadline - epoch milliseconds
 * @param core - a database whose reads are sent together with others
 */
export async function listLoopbackOrigins(
  env: { DB: D1Database; LOOPBACK_ORIGINS?: string },
  deadline: number,
  core?: Database,
): Promise<string[]> {
  if (!env.LOOPBACK_ORIGINS || (await hasMainnetSource(env, deadline, core))) return [];
  return env.LOOPBACK_ORIGINS.split(",").map((origin) => origin.trim());
}
