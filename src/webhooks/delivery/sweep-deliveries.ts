import { type Database, openDb, statement } from "../../db/client.ts";
import { firstIdAt } from "../../db/id.ts";
import { type Env, readEventRetentionMs } from "../../env.ts";
import { log } from "../../log.ts";
import { cancelDeliveries } from "../endpoints/cancel-deliveries.ts";
import { claimableDeliveriesSql } from "./claimable-deliveries.ts";
import { dispatchEvents } from "./dispatch-events.ts";
import { enqueueEndpoints, repeatEndpointId } from "./enqueue-endpoints.ts";

/** Deliveries of one endpoint that one sweep enqueues. */
const MAX_SWEPT_DELIVERIES = 500;
/** Time after which a queued message counts as lost. */
const MESSAGE_TIMEOUT_MS = 5 * 60_000;
/** Time for the message of a new delivery, before the sweep enqueues the webhook. */
const GRACE_PERIOD_MS = 30_000;

/**
 * Completes the work of runs that did not finish. It fans out events whose wake-up was lost, and
 * cancels open deliveries of disabled endpoints. It also enqueues endpoints with due, unclaimed
 * deliveries (a retry, a lost message, a dead consumer). Runs each minute; skipped, repeated or
 * overlapping runs do no harm.
 */
export async function sweepDeliveries(env: Env, requestId: string): Promise<void> {
  try {
    await dispatchEvents(env, requestId);
  } catch (error) {
    // Events that cannot be fanned out must not hold up deliveries.
    log("error", "events.dispatch_failed", { requestId, error: String(error) });
  }
  const core = openDb(env, undefined, { writes: "idempotent" });
  await core.batch([cancelDeliveries()]);
  await enqueueOverdueEndpoints(env, core, requestId);
}

/**
 * Enqueues endpoints with due, unclaimed deliveries. An endpoint is enqueued again only after a
 * consumer has taken its message, or after `MESSAGE_TIMEOUT_MS`, since the message may still be in the queue.
 */
async function enqueueOverdueEndpoints(env: Env, core: Database, requestId: string): Promise<void> {
  const now = Date.now();
  const due = now - GRACE_PERIOD_MS;
  const isNotEnqueued = { sql: "e.is_active AND ifnull(e.enqueued_until, 0) <= ?", params: [now] };
  const overdue = claimableDeliveriesSql(isNotEnqueued, now, due);
  const [updated] = await core.batch([
    statement(
      `UPDATE webhook_endpoint SET enqueued_until = ?
       WHERE id IN (SELECT endpoint_id FROM (${overdue.sql}))
       RETURNING id, (SELECT count(*) FROM (SELECT 1 FROM webhook_delivery
         WHERE endpoint_id = webhook_endpoint.id AND due_at <= ? LIMIT ${MAX_SWEPT_DELIVERIES})) AS due`,
      now + MESSAGE_TIMEOUT_MS,
      ...overdue.params,
      due,
    ),
  ]);
  const endpoints = (updated?.results ?? []) as { id: string; due: number }[];
  await enqueueEndpoints(
    env,
    endpoints.flatMap((endpoint) => repeatEndpointId(endpoint.id, endpoint.due)),
    requestId,
  );
}

const DAY_MS = 24 * 60 * 60 * 1000;
const MAX_PURGED_ROWS = 500;
const MAX_PASSES = 10;
/** Longer than any request, so that a running request still finds the row. */
const DELETED_RETENTION_MS = 60_000;

/** Epoch milliseconds: the service keeps no deliveries of events before this time. */
export function computeOldestEventTime(
  env: Pick<Env, "EVENT_RETENTION_DAYS">,
  now: number,
): number {
  return now - readEventRetentionMs(env);
}

/**
 * Deletes deliveries and events older than `EVENT_RETENTION_DAYS`, and endpoints deleted a minute ago, with the
 * rest of their log. In chunks, oldest first; the next run continues.
 *
 * @param now - epoch milliseconds
 */
export async function purgeDeliveries(env: Env, now: number): Promise<void> {
  const core = openDb(env, undefined, { writes: "idempotent" });
  const oldest = computeOldestEventTime(env, now);
  for (let pass = 0; pass < MAX_PASSES; pass++) {
    const deleted = await core.batch([
      // An id begins with the time of its event, so this scans the primary key.
      statement(
        `DELETE FROM webhook_delivery WHERE (endpoint_id, event_id) IN (
           SELECT d.endpoint_id, d.event_id FROM webhook_endpoint e
             CROSS JOIN webhook_delivery d ON d.endpoint_id = e.id
               AND d.event_id < iif(e.deleted_at IS NULL, ?, '~')
           LIMIT ${MAX_PURGED_ROWS})`,
        firstIdAt(oldest),
      ),
      statement(
        `DELETE FROM event WHERE created_at < ?
           AND seq IN (SELECT seq FROM event ORDER BY seq LIMIT ${MAX_PURGED_ROWS})
           AND seq < (SELECT max(seq) FROM event)
           AND seq <= (SELECT seq FROM event_cursor WHERE id = 1)`,
        // An hour longer than its deliveries, so that no delivery lacks its event.
        oldest - DAY_MS / 24,
      ),
    ]);
    if (deleted.every(({ meta }) => meta.changes < MAX_PURGED_ROWS)) break;
  }
  await core.batch([
    statement(
      `DELETE FROM webhook_endpoint WHERE deleted_at <= ? AND NOT EXISTS (
         SELECT 1 FROM webhook_delivery WHERE endpoint_id = webhook_endpoint.id)`,
      now - DELETED_RETENTION_MS,
    ),
  ]);
}
