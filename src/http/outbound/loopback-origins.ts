import { hasMainnetSource } from "../../db/mainnet-sources.ts";

/**
 * The loopback origins that guarded fetches may reach: those of `LOOPBACK_ORIGINS`, and none if any
 * source is on Mainnet.
 *
 * @param deadline - epoch milliseconds
 */
export async function listLoopbackOrigins(
  env: { DB: D1Database; LOOPBACK_ORIGINS?: string },
  deadline: number,
): Promise<string[]> {
  if (!env.LOOPBACK_ORIGINS || (await hasMainnetSource(env, deadline))) return [];
  return env.LOOPBACK_ORIGINS.split(",").map((origin) => origin.trim());
}
