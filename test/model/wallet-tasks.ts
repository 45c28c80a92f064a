/** The queue of wallets as the records of its features describe it. */
import type { ModelDatabase } from "./database.ts";

/** SQL: the transaction of a record is not final. */
const isOpen = (hash: string) =>
  `EXISTS (SELECT 1 FROM wallet_transaction WHERE hash = ${hash} AND phase <> 'Final')`;

/** Tasks that the records ask for: their transaction is missing, pending, or not final. */
const EXPECTED = `
  SELECT 'registration' AS feature, id || ':' || replace(replace(replace(state, 'Requested', ''),
      'Initiated', ''), 'Confirmed', '') AS id, state GLOB '*Requested' AS isDue
  FROM registration WHERE state GLOB '*Requested' OR state GLOB '*Initiated'
    OR (state GLOB '*Confirmed' AND ${isOpen("tx->>'hash'")})
  UNION ALL SELECT 'transfer', id, state = 'Pending' FROM transfer
  WHERE state IN ('Pending', 'Sent') OR (state = 'Confirmed' AND ${isOpen("tx->>'hash'")})
  UNION ALL SELECT 'reference-script', id || iif(state GLOB 'Withdraw*', ':Withdraw', ':Publish'),
    state GLOB '*Requested'
  FROM reference_script WHERE state GLOB '*Requested' OR state GLOB '*Initiated'
    OR (state IN ('Published', 'Withdrawn') AND ${isOpen("tx_hash")})
  UNION ALL SELECT 'dispute', id, state IN ('Collecting', 'SettleRequested') FROM dispute_proposal
  WHERE state IN ('SettleRequested', 'SettleInitiated')
    OR (state = 'Collecting' AND expires_at IS NOT NULL)
    OR (state = 'Settled' AND ${isOpen("tx_hash")})`;

const STORED = "SELECT feature, id, due_at IS NOT NULL AS isDue FROM wallet_task";

/** Tasks that are in the queue or in the records alone. A record that is behind its transaction is left out. */
export function wrongTasks(database: ModelDatabase): string[] {
  const behind = `SELECT task.value->>'id' FROM wallet_transaction_content,
    json_each(content->'failedUpdates') AS task`;
  const only = (one: string, other: string) =>
    database.all(
      `SELECT * FROM (SELECT * FROM (${one}) EXCEPT SELECT * FROM (${other})) WHERE id NOT IN (${behind})`,
    );
  return [
    ...only(EXPECTED, STORED).map((task) => `missing: ${JSON.stringify(task)}`),
    ...only(STORED, EXPECTED).map((task) => `not asked for: ${JSON.stringify(task)}`),
  ];
}
