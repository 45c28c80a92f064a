import { type Database, db, statement } from "../db/client.ts";
import { firstIdAt } from "../db/id.ts";
import type { Env } from "../env.ts";
import { log } from "../log.ts";
import type { DeliveryKey } from "./claim.ts";
import { dispatchEvents } from "./dispatch.ts";
import { enqueue } from "./messages.ts";
import { cancelOpen } from "./outcome.ts";

/** Deliveries that one sweep asks for. */
const MAX_SWEPT = 1_000;
/** So long a delivery is left to the message that was sent with it. */
const GRACE_MS = 30_000;

/**
 * Does whatever was not done: fans out events whose wake-up was lost, asks for deliveries that are
 * due and that nobody holds (a retry, a lost message, a consumer that died), and cancels what is
 * open for endpoints that were disabled. Runs each minute; skipped, doubled or overlapping runs do
 * no harm.
 */
export async function sweep(env: Env, requestId: string): Promise<void> {
  try {
    await dispatchEvents(env, requestId);
  } catch (error) {
    // Events that cannot be fanned out must not keep deliveries from their turn.
    log("error", "events.dispatch_failed", { requestId, error: String(error) });
  }
  const core = db(env, undefined, { writes: "idempotent" });
  await core.batch([cancelOpen()]);
  const due = await dueDeliveries(core, Date.now());
  await enqueue(
    env,
    due.map((delivery) => ({ v: 1, requestId, ...delivery })),
  );
}

/** In turns, one of each endpoint first: a long backlog of one must not keep the others waiting. */
function dueDeliveries(core: Database, now: number): Promise<DeliveryKey[]> {
  return core.all<DeliveryKey>(
    `SELECT d.endpoint_id AS endpointId, d.event_id AS eventId
     FROM webhook_endpoint e CROSS JOIN webhook_delivery d ON d.endpoint_id = e.id
       AND d.event_id IN (
         SELECT event_id FROM webhook_delivery
         WHERE endpoint_id = e.id AND due_at <= ?1 AND claimed_until <= ?2
         ORDER BY due_at LIMIT ${MAX_SWEPT})
     WHERE e.is_active
     ORDER BY row_number() OVER (PARTITION BY d.endpoint_id ORDER BY d.due_at) LIMIT ${MAX_SWEPT}`,
    now - GRACE_MS,
    now,
  );
}

const DAY_MS = 24 * 60 * 60 * 1000;
/** How long deliveries can be looked up and replayed. */
const KEPT_MS = 30 * DAY_MS;
const PURGED_AT_ONCE = 500;
const MAX_PASSES = 10;
/** Longer than any request lasts: one that read an endpoint before it was deleted still finds the row. */
const DELETED_KEPT_MS = 60_000;

/**
 * Deletes deliveries and events that are older than 30 days, and endpoints that were deleted a minute
 * ago, with what is left of their log. In chunks, oldest first; what is too much for one run is for the next.
 *
 * @param now - epoch milliseconds
 */
export async function purge(env: Env, now: number): Promise<void> {
  const core = db(env, undefined, { writes: "idempotent" });
  for (let pass = 0; pass < MAX_PASSES; pass++) {
    const deleted = await core.batch([
      // The time an id begins with is the time of its event, so this walks the primary key.
      statement(
        `DELETE FROM webhook_delivery WHERE (endpoint_id, event_id) IN (
           SELECT d.endpoint_id, d.event_id FROM webhook_endpoint e
             CROSS JOIN webhook_delivery d ON d.endpoint_id = e.id
               AND d.event_id < iif(e.deleted_at IS NULL, ?, '~')
           LIMIT ${PURGED_AT_ONCE})`,
        firstIdAt(now - KEPT_MS),
      ),
      statement(
        `DELETE FROM event WHERE created_at < ?
           AND seq IN (SELECT seq FROM event ORDER BY seq LIMIT ${PURGED_AT_ONCE})
           AND seq < (SELECT max(seq) FROM event)
           AND seq <= (SELECT seq FROM event_cursor WHERE id = 1)`,
        // An hour more than its deliveries, so that no delivery is without its event.
        now - KEPT_MS - DAY_MS / 24,
      ),
    ]);
    if (deleted.every(({ meta }) => meta.changes < PURGED_AT_ONCE)) break;
  }
  await core.batch([
    statement(
      `DELETE FROM webhook_endpoint WHERE deleted_at <= ? AND NOT EXISTS (
         SELECT 1 FROM webhook_delivery WHERE endpoint_id = webhook_endpoint.id)`,
      now - DELETED_KEPT_MS,
    ),
  ]);
}
