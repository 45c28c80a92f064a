import type { Database } from "../../db/client.ts";

const MINUTE_MS = 60_000;

/**
 * The attempts whose minute it is: each minute takes the next ones, and starts over after the last.
 *
 * @param columns - SQL of the columns of `attempt`
 * @param condition - SQL of a condition with parameters
 * @param places - how many attempts a minute takes
 * @param now - epoch milliseconds
 */
export async function readNextAttempts<Row>(
  core: Database,
  columns: string,
  condition: { sql: string; params: unknown[] },
  places: number,
  now: number,
): Promise<Row[]> {
  const from = `FROM x402_payment_attempt AS attempt WHERE ${condition.sql}`;
  const [{ count } = { count: 0 }] = await core.all<{ count: number }>(
    `SELECT count(*) AS count ${from}`,
    ...condition.params,
  );
  const turns = Math.max(Math.ceil(count / places), 1);
  const turn = Math.floor(now / MINUTE_MS) % turns;
  return core.all<Row>(
    `SELECT ${columns} ${from} ORDER BY attempt.id LIMIT ${places} OFFSET ?`,
    ...condition.params,
    turn * places,
  );
}
