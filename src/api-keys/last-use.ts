import { db, statement } from "../db/client.ts";
import type { Env } from "../env.ts";
import { log } from "../log.ts";

/** A use is noted once an hour: so a key costs at most 24 written rows a day, however much it reads. */
const NOTED_EVERY_MS = 60 * 60_000;
/** The caller waits for it no longer. */
const WRITE_MS = 1_000;

/**
 * Notes that a key is used, unless that was noted in the last hour. Whoever asks is answered though it
 * fails: then a later use is noted.
 *
 * @param lastUsedAt - as it was read with the key, epoch milliseconds; null: never
 * @param now - epoch milliseconds
 */
export async function noteUse(
  env: Env,
  id: string,
  lastUsedAt: number | null,
  now: number,
): Promise<void> {
  const isDue = (lastUsedAt ?? 0) <= now - NOTED_EVERY_MS;
  if (!isDue) return;
  try {
    await db(env, undefined, { writes: "idempotent", deadline: now + WRITE_MS }).batch([
      // Of several that find it due, one writes.
      statement(
        "UPDATE api_key SET last_used_at = ?1 WHERE id = ?2 AND ifnull(last_used_at, 0) <= ?3",
        now,
        id,
        now - NOTED_EVERY_MS,
      ),
    ]);
  } catch (error) {
    log("warn", "api_key.use_not_noted", { key: id, error: String(error) });
  }
}
