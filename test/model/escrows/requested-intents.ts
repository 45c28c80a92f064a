/** What was asked for in a story, which has to be done, or to be told why not. */
import { type Statement, statement } from "../../../src/db/client.ts";
import { AUTOMATIC_REQUESTER, type Progress } from "../../../src/escrow/model/intent.ts";
import type { ModelDatabase } from "../database.ts";

/**
 * The newest intent of each record that somebody asked for, and the intents that transactions ended. The
 * service deletes its own note of an end with the undo data of a final block.
 */
export const REQUESTED_INTENT_SCHEMA = `
  CREATE TABLE asked (record_id TEXT PRIMARY KEY, intent TEXT NOT NULL, step TEXT NOT NULL, sequence INTEGER NOT NULL);
  CREATE TABLE ended_intent (record_id TEXT, tx_hash TEXT, intent TEXT NOT NULL, PRIMARY KEY (record_id, tx_hash));
  CREATE TRIGGER end_intent AFTER INSERT ON escrow_undo WHEN NEW.data->'undo'->>'endedIntent' IS NOT NULL BEGIN
    INSERT OR REPLACE INTO ended_intent
    VALUES (NEW.record_id, NEW.tx_hash, NEW.data->'undo'->'endedIntent'->>'id');
  END`;

/** The tables of it, which are set back with the rest of the database. */
export const REQUESTED_INTENT_TABLES = ["asked", "ended_intent"] as const;

/** Notes what is wanted of a record since somebody's request, for the batch that writes it. */
export function recordRequestedIntent(
  recordId: string,
  { intent, expiredAt }: Progress,
): Statement {
  if (intent === null || intent.by === AUTOMATIC_REQUESTER || expiredAt !== null)
    return statement("DELETE FROM asked WHERE record_id = ?", recordId);
  return statement(
    `INSERT OR REPLACE INTO asked
     SELECT ?1, ?2, ?3, coalesce((SELECT sequence FROM escrow WHERE id = ?1), 0)`,
    recordId,
    intent.id,
    intent.step,
  );
}

/**
 * Finds lost intents: no transaction on the chain ended the intent, and no event reported its end.
 * A lock that comes too late ends with its purchase, which must want the lock until then. A lagging
 * provider may show the requested lock after that. A person who gets an error may clear it, which
 * ends the intent.
 */
export function findLostIntents(database: ModelDatabase): string[] {
  const rows = database.all<{ told: string }>(
    `SELECT json_object('side', side, 'state', on_chain_state, 'asked', asked.intent) AS told
     FROM asked JOIN escrow ON escrow.id = record_id
     WHERE coalesce(escrow.intent->>'id', '') <> asked.intent
       AND iif(on_chain_state IS NULL, expired_at IS NULL, step <> 'FundsLocking')
       AND NOT EXISTS (
         SELECT 1 FROM ended_intent AS done JOIN escrow_transaction USING (record_id, tx_hash)
         WHERE done.record_id = asked.record_id AND done.intent = asked.intent
           AND status = 'Confirmed')
       AND NOT EXISTS (
         SELECT 1 FROM event
         WHERE event.record_id = asked.record_id AND event.sequence > asked.sequence
           AND kind LIKE '%_ON_ERROR')
     UNION ALL
     SELECT json_object('side', side, 'unwanted', event.sequence)
     FROM event JOIN escrow ON escrow.id = record_id
     WHERE side = 'purchase' AND is_requested IS NOT NULL
       AND data->'NextAction'->>'requestedAction' = 'WaitingForExternalAction'
       AND data->>'onChainState' IS NULL AND data->'NextAction'->>'errorType' IS NULL
       AND NOT EXISTS (
         SELECT 1 FROM event AS error
         WHERE error.record_id = event.record_id AND error.sequence = event.sequence - 1
           AND error.kind = 'PURCHASE_ON_ERROR')`,
  );
  return rows.map(({ told }) => told);
}
