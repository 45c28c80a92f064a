/**
 * Which payment sources' wallets were removed or added, as long as their records were not told of it. Who
 * changes them writes it down in the same batch; whoever tells the records takes it away again.
 */
import { type Database, type Statement, statement } from "../../db/client.ts";
import { newId } from "../../db/id.ts";

const JOB_NAME_PREFIX = "wallets.changed:";

/** A change of a source's wallets that its records may not know. */
export interface WalletChange {
  sourceId: string;
  /** Another one with each change. */
  op: string;
}

/** Of the batch that changes the wallets. @param now - epoch milliseconds */
export function insertWalletChange(sourceId: string, now: number): Statement {
  return statement(
    `INSERT INTO job (name, subject, done_at) VALUES (?, ?, ?)
     ON CONFLICT (name) DO UPDATE SET subject = excluded.subject, done_at = excluded.done_at`,
    JOB_NAME_PREFIX + sourceId,
    newId(now),
    now,
  );
}

/**
 * Builds a statement for a batch that creates records of wallets. It marks wallets that were
 * removed meanwhile, so that their new records are updated too.
 *
 * @param vkeys - payment key hashes of the wallets, hex
 * @param now - epoch milliseconds
 */
export function insertChangeIfWalletsRemoved(
  sourceId: string,
  vkeys: readonly string[],
  now: number,
): Statement {
  return statement(
    `INSERT INTO job (name, subject, done_at)
     SELECT ?1, ?2, ?3 WHERE EXISTS (
       SELECT 1 FROM managed_wallet
       WHERE source_id = ?4 AND vkey IN (SELECT value FROM json_each(?5))
       GROUP BY vkey HAVING min(deleted_at IS NOT NULL))
     ON CONFLICT (name) DO UPDATE SET subject = excluded.subject, done_at = excluded.done_at`,
    JOB_NAME_PREFIX + sourceId,
    newId(now),
    now,
    sourceId,
    JSON.stringify(vkeys),
  );
}

/** @param sourceId - of this source alone */
export function listUnappliedChanges(core: Database, sourceId = "*"): Promise<WalletChange[]> {
  return core.all(
    `SELECT substr(name, ${JOB_NAME_PREFIX.length + 1}) AS sourceId, subject AS op FROM job WHERE name GLOB ?`,
    JOB_NAME_PREFIX + sourceId,
  );
}

/** All records were told of it; a change since then stays. */
export function deleteWalletChange({ sourceId, op }: WalletChange): Statement {
  return statement(
    "DELETE FROM job WHERE name = ? AND subject = ?",
    JOB_NAME_PREFIX + sourceId,
    op,
  );
}
