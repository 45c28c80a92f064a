import type { Database } from "../../db/client.ts";
import { packHexSql } from "../../db/hex-column.ts";

/**
 * How many quotes of an agent a buyer could still lock funds for. It reads the payment source's quotes that are
 * neither locked nor expired.
 *
 * @param now - epoch milliseconds
 */
export async function countOpenQuotes(
  db: Database,
  sourceId: string,
  agentIdentifier: string,
  now: number,
): Promise<number> {
  const [row] = await db.all<{ quotes: number }>(
    `SELECT count(*) AS quotes FROM escrow INDEXED BY escrow_unlocked
     WHERE source_id = ?1 AND on_chain_state IS NULL AND expired_at IS NULL
       AND CAST(pay_by_time AS INTEGER) > ?2
       AND side = 'payment' AND agent_identifier = ${packHexSql("?3")}`,
    sourceId,
    now,
    agentIdentifier,
  );
  return row?.quotes ?? 0;
}
