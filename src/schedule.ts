import { db } from "./db/client.ts";
import { newId } from "./db/id.ts";
import type { Env } from "./env.ts";
import { log } from "./log.ts";
import { activeSourceIds } from "./sources/active.ts";
import { wakeCursor } from "./sources/cursor.ts";

/**
 * What the cron does each minute. The platform may skip a slot, fire it twice or overlap two: each
 * job only asks an object for work that the object does once.
 */
export async function runSchedule(env: Env): Promise<void> {
  const requestId = newId(Date.now());
  const sources = await activeSourceIds(db(env));
  await Promise.all(
    sources.map((id) =>
      wakeCursor(env, id, requestId).catch((error: unknown) => {
        log("error", "schedule.wake_failed", { source: id, requestId, error: String(error) });
      }),
    ),
  );
}
