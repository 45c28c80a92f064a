import type { Database } from "../db/client.ts";

/** Events that could not be fanned out. */
export interface SetAsideEvents {
  count: number;
  /** Why the newest could not. Null: there is none. */
  reason: string | null;
}

/** Reads what the dispatcher has set aside. The purge deletes these events with the others. */
export async function readSetAsideEvents(core: Database): Promise<SetAsideEvents> {
  const [row] = await core.all<SetAsideEvents>(
    `SELECT count(*) AS count,
       (SELECT dispatch_error FROM event WHERE dispatch_error IS NOT NULL ORDER BY seq DESC LIMIT 1) AS reason
     FROM event WHERE dispatch_error IS NOT NULL`,
  );
  return row ?? { count: 0, reason: null };
}
