import type { Block } from "../chain/provider/provider.ts";
import type { Env } from "../env.ts";
import type { AppContext } from "../http/context.ts";
import { log } from "../log.ts";
import { wakeSourceSync } from "./cursor.ts";

/** Has a source read anew after a request changed it, which is committed. */
export function wakeChangedSource(c: AppContext, sourceId: string): Promise<void> {
  return wakeSource(c.env, sourceId, c.var.requestId);
}

/**
 * Has a source read at once. Never throws: if its object cannot be woken, the cron does so within a minute.
 *
 * @param tip - of its provider, if that was asked just now
 */
export async function wakeSource(
  env: Env,
  sourceId: string,
  requestId: string,
  tip: Block | null = null,
): Promise<void> {
  try {
    await wakeSourceSync(env, sourceId, requestId, tip);
  } catch (error) {
    log("warn", "sync.not_woken", { requestId, sourceId, error: String(error) });
  }
}
