import { type Database, db, statement } from "../../db/client.ts";
import { firstIdAt } from "../../db/id.ts";
import type { Env } from "../../env.ts";
import { log } from "../../log.ts";
import { dispatchEvents } from "./dispatch.ts";
import { askFor, timesFor } from "./messages.ts";
import { cancelOpen } from "./outcome.ts";
import { claimable } from "./share.ts";

/** Deliveries of one endpoint that one sweep enqueues. */
const MAX_SWEPT = 500;
/** How long messages may wait in the queue before they count as lost. */
const ASKED_MS = 5 * 60_000;
/** How long a delivery is left to the message that was sent with it. */
const GRACE_MS = 30_000;

/**
 * Completes the work of runs that did not finish. It fans out events whose wake-up was lost, and
 * cancels open deliveries of disabled endpoints. It also enqueues endpoints with due, unclaimed
 * deliveries (a retry, a lost message, a dead consumer). Runs each minute; skipped, repeated or
 * overlapping runs do no harm.
 */
export async function sweep(env: Env, requestId: string): Promise<void> {
  try {
    await dispatchEvents(env, requestId);
  } catch (error) {
    // Events that cannot be fanned out must not hold up deliveries.
    log("error", "events.dispatch_failed", { requestId, error: String(error) });
  }
  const core = db(env, undefined, { writes: "idempotent" });
  await core.batch([cancelOpen()]);
  await askForOverdue(env, core, requestId);
}

/**
 * Enqueues endpoints with due, unclaimed deliveries. An endpoint is enqueued again only after a
 * consumer has taken its message, or after `ASKED_MS`, since the message may still be in the queue.
 */
async function askForOverdue(env: Env, core: Database, requestId: string): Promise<void> {
  const now = Date.now();
  const due = now - GRACE_MS;
  const isUnasked = { sql: "e.is_active AND ifnull(e.asked_until, 0) <= ?", params: [now] };
  const overdue = claimable(isUnasked, now, due);
  const [asked] = await core.batch([
    statement(
      `UPDATE webhook_endpoint SET asked_until = ?
       WHERE id IN (SELECT endpoint_id FROM (${overdue.sql}))
       RETURNING id, (SELECT count(*) FROM (SELECT 1 FROM webhook_delivery
         WHERE endpoint_id = webhook_endpoint.id AND due_at <= ? LIMIT ${MAX_SWEPT})) AS due`,
      now + ASKED_MS,
      ...overdue.params,
      due,
    ),
  ]);
  const endpoints = (asked?.results ?? []) as { id: string; due: number }[];
  await askFor(
    env,
    endpoints.flatMap((endpoint) => timesFor(endpoint.id, endpoint.due)),
    requestId,
  );
}

const DAY_MS = 24 * 60 * 60 * 1000;
/** How long deliveries can be looked up and replayed. */
const KEPT_MS = 30 * DAY_MS;
const PURGED_AT_ONCE = 500;
const MAX_PASSES = 10;
/** Longer than any request: one that read an endpoint before its deletion still finds the row. */
const DELETED_KEPT_MS = 60_000;

/**
 * Deletes deliveries and events older than 30 days, and endpoints deleted a minute ago, with the
 * rest of their log. In chunks, oldest first; the next run continues.
 *
 * @param now - epoch milliseconds
 */
export async function purge(env: Env, now: number): Promise<void> {
  const core = db(env, undefined, { writes: "idempotent" });
  for (let pass = 0; pass < MAX_PASSES; pass++) {
    const deleted = await core.batch([
      // An id begins with the time of its event, so this scans the primary key.
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
        // An hour longer than its deliveries, so that no delivery lacks its event.
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
