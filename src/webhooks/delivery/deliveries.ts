import { type Database, type Statement, statement } from "../../db/client.ts";
import { firstIdAt } from "../../db/id.ts";
import { isoTime } from "../../http/envelope.ts";
import type { DeliveryStatus } from "../kinds.ts";

/** Which deliveries of an endpoint; times are those of the events, epoch milliseconds. */
export interface DeliveryFilter {
  /** The event's id. */
  id?: string | undefined;
  status?: DeliveryStatus | undefined;
  event?: string | undefined;
  /** At this time or later. */
  since?: number | undefined;
  /** Before this time. */
  until?: number | undefined;
}

/** Names a delivery. */
export interface DeliveryKey {
  endpointId: string;
  eventId: string;
}

interface DeliveryRow {
  eventId: string;
  kind: string;
  status: DeliveryStatus;
  attempt: number;
  dueAt: number | null;
  lastAttemptAt: number | null;
  responseStatus: number | null;
  error: string | null;
  durationMs: number | null;
  createdAt: number;
}

/** One page of an endpoint's deliveries, newest event first, after `cursorId`. */
export async function listDeliveries(
  core: Database,
  endpointId: string,
  filter: DeliveryFilter,
  page: { limit: number; cursorId?: string | undefined },
) {
  const where = conditionsOf(endpointId, filter);
  where.add("event_id <", page.cursorId);
  const rows = await core.all<DeliveryRow>(
    `SELECT event_id AS eventId, kind, status, attempt, due_at AS dueAt,
       last_attempt_at AS lastAttemptAt, response_status AS responseStatus, error,
       duration_ms AS durationMs, created_at AS createdAt
     FROM webhook_delivery WHERE ${where.sql()} ORDER BY event_id DESC LIMIT ?`,
    ...where.params,
    page.limit,
  );
  return rows.map((row) => ({
    id: row.eventId,
    webhookId: endpointId,
    event: row.kind,
    status: row.status,
    attempts: row.attempt,
    nextAttemptAt: timeOrNull(row.dueAt),
    lastAttemptAt: timeOrNull(row.lastAttemptAt),
    responseStatus: row.responseStatus,
    error: row.error,
    durationMs: row.durationMs,
    createdAt: isoTime(row.createdAt),
  }));
}

const timeOrNull = (at: number | null) => (at === null ? null : isoTime(at));

/**
 * Which deliveries a replay sends: the named one, or those of a time span that failed or were
 * cancelled, oldest first.
 */
export async function deliveriesToReplay(
  core: Database,
  endpointId: string,
  which: DeliveryFilter,
  limit: number,
): Promise<DeliveryKey[]> {
  const where = conditionsOf(endpointId, which);
  if (which.id === undefined && which.status === undefined)
    where.sqls.push("status IN ('Failed', 'Cancelled')");
  return core.all<DeliveryKey>(
    `SELECT endpoint_id AS endpointId, event_id AS eventId FROM webhook_delivery
     WHERE ${where.sql()} AND due_at IS NULL ORDER BY event_id LIMIT ?`,
    ...where.params,
    limit,
  );
}

/**
 * Restarts finished deliveries: the same event, under the same id, with all attempts. An open one
 * is left as it is, so a second replay changes nothing.
 *
 * @param now - epoch milliseconds
 */
export function reopen(keys: readonly DeliveryKey[], now: number): Statement {
  return statement(
    `UPDATE webhook_delivery SET status = 'Pending', due_at = ?, failed_attempts = 0
     WHERE (endpoint_id, event_id) IN (SELECT value->>'endpointId', value->>'eventId'
       FROM json_each(?)) AND due_at IS NULL`,
    now,
    JSON.stringify(keys),
  );
}

/** Only the filters sent are in the statement. */
function conditionsOf(endpointId: string, filter: DeliveryFilter) {
  const params: unknown[] = [];
  const sqls: string[] = [];
  const conditions = {
    params,
    sqls,
    add(condition: string, value: unknown) {
      if (value === undefined) return;
      params.push(value);
      sqls.push(`${condition} ?`);
    },
    sql: () => sqls.join(" AND "),
  };
  conditions.add("endpoint_id =", endpointId);
  conditions.add("event_id =", filter.id);
  conditions.add("status =", filter.status);
  conditions.add("kind =", filter.event);
  conditions.add("event_id >=", filter.since === undefined ? undefined : firstIdAt(filter.since));
  conditions.add("event_id <", filter.until === undefined ? undefined : firstIdAt(filter.until));
  return conditions;
}
