import { type Database, type Statement, statement, violates } from "../db/client.ts";
import { newId } from "../db/id.ts";
import type { AppContext } from "./context.ts";

/** What an Admin or +PAY mutation leaves in the audit log. */
export interface AuditEntry {
  /** What was done, as `feature.verb`. */
  action: `${string}.${string}`;
  /** The id it was done to. */
  target: string;
  /** Other relevant values; never a secret. */
  detail?: object;
  /** Epoch milliseconds. */
  now: number;
}

/** The row of a mutation's audit entry, with its caller and request. */
export function auditRow(c: AppContext, entry: AuditEntry): Statement {
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
 * Makes a mutation and its audit row in one batch. The audit row's id is the operation key: when
 * the first answer was lost and the batch is sent again, its violation says that all is done, since
 * the id is made here for one batch, which writes it before anything else that a repeat could
 * violate. So `database` may have `writes: "idempotent"` whatever the statements are.
 */
export async function commitAudited(
  c: AppContext,
  database: Database,
  entry: AuditEntry,
  statements: Statement[],
): Promise<void> {
  try {
    await database.batch([auditRow(c, entry), ...statements]);
  } catch (error) {
    if (!violates(error, "audit.id")) throw error;
  }
}
