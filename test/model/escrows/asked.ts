/** What was asked for in a story, which has to be done, or to be told why not. */
import { type Statement, statement } from "../../../src/db/client.ts";
import { AUTOMATIC, type Wanted } from "../../../src/escrow/wanted.ts";
import type { ModelDatabase } from "../database.ts";

/** The newest want of each record that somebody asked for; it is set back with the rest of the database. */
export const ASKED_SCHEMA =
  "CREATE TABLE asked (record_id TEXT PRIMARY KEY, want TEXT NOT NULL, step TEXT NOT NULL, sequence INTEGER NOT NULL)";

/** Notes what is wanted of a record since somebody's request, for the batch that writes it. */
export function noteAsked(recordId: string, { want, expiredAt }: Wanted): Statement {
  if (want === null || want.by === AUTOMATIC || expiredAt !== null)
    return statement("DELETE FROM asked WHERE record_id = ?", recordId);
  return statement(
    `INSERT OR REPLACE INTO asked
     SELECT ?1, ?2, ?3, coalesce((SELECT sequence FROM escrow WHERE id = ?1), 0)`,
    recordId,
    want.id,
    want.step,
  );
}

/**
 * Wants that are gone: no transaction of the chain ended them, and nobody was told that they ended. A lock
 * that is not made in time ends with its purchase, which must be wanted up to then; one that a provider which
 * lags behind shows after that is the lock that was asked for, all the same. Who is told of an error may
 * clear it, and wants nothing then.
 */
export function vanished(database: ModelDatabase): string[] {
  const rows = database.all<{ told: string }>(
    `SELECT json_object('side', side, 'state', on_chain_state, 'asked', asked.want) AS told
     FROM asked JOIN escrow ON escrow.id = record_id
     WHERE coalesce(escrow.want->>'id', '') <> asked.want
       AND iif(on_chain_state IS NULL, expired_at IS NULL, step <> 'FundsLocking')
       AND NOT EXISTS (
         SELECT 1 FROM escrow_transaction AS done
         WHERE done.record_id = asked.record_id AND status = 'Confirmed'
           AND before->'taken'->'ended'->>'id' = asked.want)
       AND NOT EXISTS (
         SELECT 1 FROM event
         WHERE event.record_id = asked.record_id AND event.sequence > asked.sequence
           AND kind LIKE '%_ON_ERROR')
     UNION ALL
     SELECT json_object('side', side, 'unwanted', event.sequence)
     FROM event JOIN escrow ON escrow.id = record_id
     WHERE side = 'purchase' AND terms->>'isRequested'
       AND data->'NextAction'->>'requestedAction' = 'WaitingForExternalAction'
       AND data->>'onChainState' IS NULL AND data->'NextAction'->>'errorType' IS NULL
       AND NOT EXISTS (
         SELECT 1 FROM event AS error
         WHERE error.record_id = event.record_id AND error.sequence = event.sequence - 1
           AND error.kind = 'PURCHASE_ON_ERROR')`,
  );
  return rows.map(({ told }) => told);
}
