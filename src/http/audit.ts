import { type Database, type Statement, statement, violates } from "../db/client.ts";
import { newId } from "../db/id.ts";
import type { AuditAction } from "./audit-actions.ts";
import type { AppContext } from "./context.ts";

/** What an Admin or +PAY mutation leaves in the audit log. */
export interface AuditEntry {
  /** What was done, as `feature.verb`. */
  action: AuditAction;
  /** The id it was done to. */
  target: string;
  /** Other relevant values; never a secret. */
  detail?: object;
  /** Epoch milliseconds. */
  now: number;
}

/** The row of a mutation's audit entry, with its caller and request. */
export function insertAuditRow(c: AppContext, entry: AuditEntry): Statement {
  return statement(
    `INSERT INTO audit (id, at, api_key_id, request_id, action, target, detail)
     VALUES (?, ?, ?, ?, ?, ?, ?)`,
    newId(entry.now),
    entry.now,
    c.var.caller.id,
    c.var.requestId,
    entry.action,
    entry.target,
    entry.detail ? JSON.stringify(entry.detail) : null,
  );
}

/**
 * Writes a mutation and its audit row in one batch. The id of the audit row is the operation key. It is
 * made here for this batch, which writes the audit row first. When the batch is sent again after a lost
 * answer, the violated key shows that the batch is already applied. So `database` may have `writes:
 * "idempotent"` whatever the statements are.
 *
 * @returns the results of the statements; null: the batch was already applied
 */
export async function commitWithAudit(
  c: AppContext,
  database: Database,
  entry: AuditEntry,
  statements: Statement[],
): Promise<D1Result[] | null> {
  try {
    return (await database.batch([insertAuditRow(c, entry), ...statements])).slice(1);
  } catch (error) {
    if (!violates(error, "audit.id")) throw error;
    return null;
  }
}
