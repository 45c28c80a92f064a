import type { AppContext } from "../http/context.ts";
import { log } from "../log.ts";
import { wakeCursor } from "./cursor.ts";

/**
 * Has a source read anew after a request changed it. The change is committed: if its object cannot be
 * woken, the cron does so within a minute.
 */
export async function wakeChanged(c: AppContext, sourceId: string): Promise<void> {
  const { requestId } = c.var;
  try {
    await wakeCursor(c.env, sourceId, requestId);
  } catch (error) {
    log("warn", "sync.not_woken", { requestId, sourceId, error: String(error) });
  }
}
