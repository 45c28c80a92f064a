import type * as z from "zod";
import { type Database, type Statement, statement } from "../../db/client.ts";
import { Conditions } from "../../db/conditions.ts";
import { firstIdAt } from "../../db/id.ts";
import { toIsoTime, toIsoTimeOrNull } from "../../http/envelope.ts";
import type { deliveryRecord } from "../model/schemas.ts";
import { type DeliveryStatus, ESCROW_KIND_CONDITION } from "../model/tables.ts";
import { toAttemptsResponse } from "./attempt-log.ts";

/** Which deliveries, by an endpoint or a record at least; times are those of the events, epoch milliseconds. */
export interface DeliveryFilter {
  endpointId?: string | undefined;
  /** The event's id. */
  id?: string | undefined;
  /** The payment or purchase that the event is about. */
  recordId?: string | undefined;
  status?: DeliveryStatus | undefined;
  event?: string | undefined;
  /** The API key that made the endpoint. */
  createdById?: string | undefined;
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

/** A delivery as it is stored: times are epoch milliseconds. */
type DeliveryRow = Omit<
  z.input<typeof deliveryRecord>,
  "nextAttemptAt" | "lastAttemptAt" | "AttemptLog" | "createdAt"
> & {
  nextAttemptAt: number | null;
  lastAttemptAt: number | null;
  AttemptLog: string | null;
  createdAt: number;
};

/** Where a page begins: after this delivery, or with a later one of the same event. */
interface DeliveryPageQuery {
  limit: number;
  cursorId?: string | undefined;
  /** The endpoint of that delivery; left out, none of the event is returned. */
  cursorWebhookId?: string | undefined;
}

/**
 * One page of deliveries, newest event first, after the cursor: of one endpoint it walks that one's
 * log, else what was told of one record. Endpoints that were deleted have none.
 */
export async function listDeliveries(
  core: Database,
  filter: DeliveryFilter,
  page: DeliveryPageQuery,
) {
  const where = buildConditions(filter);
  where.add("(event_id, endpoint_id) < (?, ?)", page.cursorId, page.cursorWebhookId ?? "");
  const rows = await core.all<DeliveryRow>(
    `SELECT event_id AS id, endpoint_id AS webhookId, record_id AS recordId, kind AS event, status,
       attempt AS attempts, due_at AS nextAttemptAt, last_attempt_at AS lastAttemptAt,
       response_status AS responseStatus, error, duration_ms AS durationMs,
       attempt_log AS AttemptLog, created_at AS createdAt
     FROM webhook_delivery WHERE ${where.toSql()}
     ORDER BY event_id DESC, endpoint_id DESC LIMIT ${page.limit}`,
    ...where.params,
  );
  return rows.map((row) => ({
    ...row,
    nextAttemptAt: toIsoTimeOrNull(row.nextAttemptAt),
    lastAttemptAt: toIsoTimeOrNull(row.lastAttemptAt),
    AttemptLog: toAttemptsResponse(row.AttemptLog),
    createdAt: toIsoTime(row.createdAt),
  }));
}

/**
 * Which deliveries a replay sends: the named one, or those of a time span that failed or were
 * cancelled, oldest first.
 */
export async function listDeliveriesToReplay(
  core: Database,
  endpointId: string,
  which: DeliveryFilter,
  limit: number,
): Promise<DeliveryKey[]> {
  const where = buildConditions({ ...which, endpointId });
  if (which.id === undefined && which.status === undefined)
    where.add("status IN ('Failed', 'Cancelled')");
  return core.all<DeliveryKey>(
    `SELECT endpoint_id AS endpointId, event_id AS eventId FROM webhook_delivery
     WHERE ${where.toSql()} AND due_at IS NULL ORDER BY event_id LIMIT ${limit}`,
    ...where.params,
  );
}

/**
 * Restarts finished deliveries: the same event, under the same id, with all attempts. An open one
 * is left as it is, so a second replay changes nothing.
 *
 * @param now - epoch milliseconds
 */
export function reopenDeliveries(keys: readonly DeliveryKey[], now: number): Statement {
  return statement(
    `UPDATE webhook_delivery SET status = 'Pending', due_at = ?, failed_attempts = 0
     WHERE (endpoint_id, event_id) IN (SELECT value->>'endpointId', value->>'eventId'
       FROM json_each(?)) AND due_at IS NULL`,
    now,
    JSON.stringify(keys),
  );
}

/** SQL of the key that made a delivery's endpoint; null when that was deleted. */
const CREATOR_ID_SQL = `(SELECT created_by_id FROM webhook_endpoint
  WHERE id = webhook_delivery.endpoint_id AND deleted_at IS NULL)`;

/** Only the filters sent are in the statement. */
function buildConditions(filter: DeliveryFilter): Conditions {
  const where = new Conditions();
  where.add("endpoint_id = ?", filter.endpointId);
  if (filter.recordId !== undefined) where.add(ESCROW_KIND_CONDITION);
  where.add("record_id = ?", filter.recordId);
  if (filter.endpointId === undefined) where.add(`${CREATOR_ID_SQL} IS NOT NULL`);
  where.add(`${CREATOR_ID_SQL} = ?`, filter.createdById);
  where.add("event_id = ?", filter.id);
  where.add("status = ?", filter.status);
  where.add("kind = ?", filter.event);
  where.add("event_id >= ?", filter.since === undefined ? undefined : firstIdAt(filter.since));
  where.add("event_id < ?", filter.until === undefined ? undefined : firstIdAt(filter.until));
  return where;
}
