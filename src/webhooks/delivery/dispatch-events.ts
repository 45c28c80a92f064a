import {
  type Database,
  isDatabaseFault,
  openDb,
  type Statement,
  statement,
} from "../../db/client.ts";
import type { SqlExpression } from "../../db/clock.ts";
import type { Env } from "../../env.ts";
import { wakeDispatcher } from "../../events/outbox.ts";
import { log } from "../../log.ts";
import {
  ENDPOINTS_WITH_CREATOR_SQL,
  eventColumnsOf,
  mayReceiveCondition,
} from "../model/may-receive-condition.ts";
import { audienceCondition } from "../model/subscription-triggers.ts";
import { enqueueEndpoints, repeatEndpointId } from "./enqueue-endpoints.ts";

/** The first portion is small: it is quick, and shows how many deliveries an event has. */
const FIRST_EVENTS = 20;
const MAX_EVENTS = 200;
/** Deliveries that a portion may have, as far as the portion before it shows. */
const MAX_DELIVERIES = 1_000;
/** What is left after this many passes, or this long, is for the next invocation. */
const MAX_PASSES = 20;
const RUN_TIMEOUT_MS = 10_000;
/** The last pass has this long for the database. */
const DATABASE_TIMEOUT_MS = 10_000;
const MAX_REASON_LENGTH = 200;

const CURSOR_SQL = "ifnull((SELECT seq FROM event_cursor WHERE id = 1), 0)";

/** What a portion of events came to. */
interface Portion {
  /** The endpoint of each delivery. */
  endpointIds: string[];
  isLast: boolean;
}

/**
 * Fans out the events written since the last run, in portions. Each endpoint that may receive an event gets
 * a delivery, and each endpoint with new deliveries gets messages. One transaction writes a portion's
 * deliveries and moves the cursor past it, so overlapping runs do different events. Each may stop at any
 * point. The sweep replaces messages that were not sent.
 *
 * When the database refuses a portion, half of it is tried. An event that is refused alone is set aside.
 *
 * @param requestId - passed on in the messages
 */
export async function dispatchEvents(env: Env, requestId: string): Promise<void> {
  const runsUntil = Date.now() + RUN_TIMEOUT_MS;
  const core = openDb(env, undefined, {
    writes: "idempotent",
    deadline: runsUntil + DATABASE_TIMEOUT_MS,
  });
  let limit = FIRST_EVENTS;
  for (let pass = 0; pass < MAX_PASSES && Date.now() < runsUntil; pass++) {
    const portion = await tryPortion(env, core, limit, requestId);
    if (portion === null) {
      limit = Math.ceil(limit / 2);
      continue;
    }
    const byEndpoint = Map.groupBy(portion.endpointIds, (id) => id);
    await enqueueEndpoints(
      env,
      [...byEndpoint].flatMap(([id, { length }]) => repeatEndpointId(id, length)),
      requestId,
    );
    if (portion.isLast) return;
    const deliveriesPerEvent = Math.max(portion.endpointIds.length / limit, 1);
    const affordable = Math.max(Math.floor(MAX_DELIVERIES / deliveriesPerEvent), 1);
    limit = Math.min(2 * limit, affordable, MAX_EVENTS);
  }
  await wakeDispatcher(env, requestId);
}

/** Fans out at most so many events. Null: the database refused them together, and took none. */
async function tryPortion(
  env: Env,
  core: Database,
  limit: number,
  requestId: string,
): Promise<Portion | null> {
  if (limit === 1) return dispatchOne(env, core, requestId);
  try {
    const last = { sql: `${CURSOR_SQL} + ?`, params: [limit] };
    return await commitPortion(core, last, insertDeliveries(env, last, Date.now()));
  } catch (error) {
    if (isDatabaseFault(error)) throw error;
    return null;
  }
}

/** Fans out the next event. If the database refuses it, the event is set aside with the reason. */
async function dispatchOne(env: Env, core: Database, requestId: string): Promise<Portion> {
  const [next] = await core.all<{ seq: number }>(
    `SELECT seq FROM event WHERE seq > ${CURSOR_SQL} ORDER BY seq LIMIT 1`,
  );
  if (!next) return { endpointIds: [], isLast: true };
  // Named by its `seq`, since another run may move the cursor meanwhile.
  const last = { sql: "?", params: [next.seq] };
  try {
    return await commitPortion(core, last, insertDeliveries(env, last, Date.now()));
  } catch (error) {
    if (isDatabaseFault(error)) throw error;
    const reason = String(error).slice(0, MAX_REASON_LENGTH);
    log("error", "events.set_aside", { requestId, seq: next.seq, error: reason });
    const { isLast } = await commitPortion(core, last, markFailed(next.seq, reason));
    return { endpointIds: [], isLast };
  }
}

/**
 * Handles the events up to `last` and moves the cursor.
 *
 * @param last - SQL of the portion's last `seq`
 * @param work - returns the `endpointId` of each delivery
 */
async function commitPortion(
  core: Database,
  last: SqlExpression,
  work: Statement,
): Promise<Portion> {
  const [done, moved] = await core.batch([work, moveCursor(last)]);
  const endpointIds = ((done?.results ?? []) as { endpointId: string }[]).map(
    (row) => row.endpointId,
  );
  const [cursor] = (moved?.results ?? []) as { left: number }[];
  return { endpointIds, isLast: (cursor?.left ?? 0) <= 0 };
}

/** The indexes lead from an event to its subscriptions, and the condition judges each endpoint. */
function insertDeliveries(env: Env, last: SqlExpression, now: number): Statement {
  const allowed = mayReceiveCondition(env, eventColumnsOf("event"));
  return statement(
    `INSERT INTO webhook_delivery (endpoint_id, event_id, event_seq, kind, network, source_id,
       owner_id, wallet_ids, record_id, status, attempt, failed_attempts, due_at, claimed_until, created_at)
     SELECT e.id, event.id, event.seq, event.kind, event.network, event.source_id,
       event.owner_id, event.wallet_ids, event.record_id, 'Pending', 0, 0, ?, 0, ?
     FROM event
       CROSS JOIN webhook_subscription AS s ON s.kind = event.kind
         AND s.source_id IN ('', event.source_id) AND ${audienceCondition("s.audience")}
       CROSS JOIN ${ENDPOINTS_WITH_CREATOR_SQL}
     WHERE event.seq > ${CURSOR_SQL} AND event.seq <= ${last.sql}
       AND e.id = s.endpoint_id AND ${allowed.sql}
     ON CONFLICT DO NOTHING
     RETURNING endpoint_id AS endpointId`,
    now,
    now,
    ...last.params,
    ...allowed.params,
  );
}

function markFailed(seq: number, reason: string): Statement {
  return statement(
    `UPDATE event SET dispatch_error = ? WHERE seq = ? AND seq > ${CURSOR_SQL}`,
    reason,
    seq,
  );
}

/** Moves the cursor forward, and returns how many events are `left`. */
function moveCursor(last: SqlExpression): Statement {
  return statement(
    `INSERT INTO event_cursor (id, seq)
     SELECT 1, last FROM (SELECT min(${last.sql}, (SELECT max(seq) FROM event)) AS last)
     WHERE last > ${CURSOR_SQL}
     ON CONFLICT (id) DO UPDATE SET seq = excluded.seq
     RETURNING (SELECT max(seq) FROM event) - seq AS left`,
    ...last.params,
  );
}
