import { ENV_ADMIN_ID } from "../api-keys/find-key.ts";
import { type Database, type Statement, statement } from "../db/client.ts";
import { newId } from "../db/id.ts";
import type { ServiceEventKind } from "./event-kinds.ts";
import { isSubscribedSql } from "./outbox.ts";

/** A new incident of the service. */
export interface NewIncident {
  /** Subject. Kind and subject identify the incident. */
  subject: string;
  /** The payment source. Null: only webhooks for all sources receive the event. */
  sourceId: string | null;
  /** What receivers get as `data`. Holds no secret. */
  data: object;
  /** Id of its event. Default: a new one. */
  eventId?: string;
}

/** The `network` of service events. */
const SERVICE_NETWORK = "service";

/** An open incident. */
export interface OpenIncident {
  subject: string;
  /** Epoch milliseconds. */
  since: number;
}

/** Reads open incidents, by kind. */
export async function readOpenIncidents(
  core: Database,
): Promise<Map<ServiceEventKind, OpenIncident[]>> {
  const rows = await core.all<OpenIncident & { kind: ServiceEventKind }>(
    "SELECT kind, subject, since FROM incident WHERE over_at IS NULL ORDER BY kind, subject",
  );
  return Map.groupBy(rows, ({ kind }) => kind);
}

/**
 * Statements that begin incidents which are not open yet, with an event for each, which only Admins
 * receive. When several runs find the same incident, only one of them writes the event.
 *
 * The batch must not be sent again when its answer is lost, so that no event is written twice.
 *
 * @param now - epoch milliseconds
 * @param renews - whether `since` moves when an open incident is found again
 */
export function beginIncidents(
  kind: ServiceEventKind,
  troubles: readonly NewIncident[],
  now: number,
  renews = false,
): Statement[] {
  if (troubles.length === 0) return [];
  const op = newId(now);
  const found = JSON.stringify(troubles.map((trouble) => ({ eventId: newId(now), ...trouble })));
  const isOver = "incident.over_at IS NOT NULL";
  return [
    statement(
      `INSERT INTO incident (kind, subject, since, sequence, last_op)
       SELECT ?1, value->>'subject', ?2, 1, ?3 FROM json_each(?4) WHERE TRUE
       ON CONFLICT (kind, subject) DO UPDATE SET since = excluded.since, over_at = NULL,
         sequence = incident.sequence + (${isOver}),
         last_op = iif(${isOver}, excluded.last_op, incident.last_op)
       WHERE ${isOver} OR ?5`,
      kind,
      now,
      op,
      found,
      renews ? 1 : 0,
    ),
    statement(
      `INSERT INTO event (id, kind, network, source_id, owner_id, record_id, sequence, data,
         created_at)
       SELECT value->>'eventId', ?1, '${SERVICE_NETWORK}', value->>'sourceId', '${ENV_ADMIN_ID}',
         value->>'subject', incident.sequence, value->'data', ?2
       FROM json_each(?4) JOIN incident ON incident.kind = ?1
         AND incident.subject = value->>'subject' AND incident.last_op = ?3
       WHERE ${isSubscribedSql("?1")}`,
      kind,
      now,
      op,
      found,
    ),
  ];
}

/** Ends incidents, but for those that were found again since they were read. @param now - epoch milliseconds */
export function endIncidents(
  kind: ServiceEventKind,
  over: readonly OpenIncident[],
  now: number,
): Statement {
  return statement(
    `UPDATE incident SET over_at = ? WHERE kind = ? AND over_at IS NULL
       AND (subject, since) IN (SELECT value->>'subject', value->>'since' FROM json_each(?))`,
    now,
    kind,
    JSON.stringify(over),
  );
}
