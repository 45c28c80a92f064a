import { type Database, statement } from "../db/client.ts";

/**
 * Writes a message into the records of a feature, and nothing else.
 *
 * @param table - has `id`, `error`, `updated_at` and `rev`
 * @param message - for people
 * @param now - epoch milliseconds
 */
export async function noteOnRecords(
  db: Pick<Database, "batch">,
  table: "registration" | "transfer" | "reference_script" | "dispute_proposal",
  ids: readonly string[],
  message: string,
  now: number,
): Promise<void> {
  await db.batch([
    statement(
      `UPDATE ${table} SET error = ?1, updated_at = ?2, rev = rev + 1
       WHERE id IN (SELECT value FROM json_each(?3))`,
      message,
      now,
      JSON.stringify(ids),
    ),
  ]);
}
