import { type Database, openDb, type Statement, statement } from "../../db/client.ts";
import type { Env } from "../../env.ts";
import { wakeDispatcher } from "../../events/outbox.ts";
import { ENDPOINTS_WITH_CREATOR_SQL, mayReceiveCondition } from "../model/may-receive-condition.ts";
import { enqueueEndpoints, repeatEndpointId } from "./enqueue-endpoints.ts";

/** Deliveries that one statement may write, as far as that is known in advance. */
const MAX_DELIVERIES = 1_000;
const MAX_EVENTS = 100;
/** What is left after this many passes, or this long, is for the next invocation. */
const MAX_PASSES = 20;
const RUN_TIMEOUT_MS = 10_000;
/** The last pass has this long for the database. */
const DATABASE_TIMEOUT_MS = 10_000;

/** An event without its data. */
interface PendingEvent {
  seq: number;
  id: string;
  kind: string;
  network: string;
  sourceId: string | null;
  ownerId: string | null;
  walletIds: string | null;
  recordId: string;
}

/**
 * Fans out the events written since the last run. Each endpoint that may receive an event gets a
 * delivery, and each endpoint with new deliveries gets messages. Any number of runs may overlap, and
 * each may stop at any point. The key of a delivery prevents a second one. The cursor moves only
 * forward, after the deliveries are written. The sweep replaces messages that were not sent.
 *
 * @param requestId - passed on in the messages
 */
export async function dispatchEvents(env: Env, requestId: string): Promise<void> {
  const runsUntil = Date.now() + RUN_TIMEOUT_MS;
  const core = openDb(env, undefined, {
    writes: "idempotent",
    deadline: runsUntil + DATABASE_TIMEOUT_MS,
  });
  // All events are in one table of one database.
  const outbox = core;
  for (let pass = 0; pass < MAX_PASSES && Date.now() < runsUntil; pass++) {
    const events = await listPendingEvents(outbox, await readEventLimit(core));
    const last = events.at(-1);
    if (!last) return;
    const [inserted] = await core.batch([insertDeliveries(env, events, Date.now())]);
    await outbox.batch([updateCursor(last.seq)]);
    const deliveries = (inserted?.results ?? []) as { endpointId: string }[];
    const byEndpoint = Map.groupBy(deliveries, ({ endpointId }) => endpointId);
    await enqueueEndpoints(
      env,
      [...byEndpoint].flatMap(([endpointId, { length }]) => repeatEndpointId(endpointId, length)),
      requestId,
    );
  }
  await wakeDispatcher(env, requestId);
}

/** Few events at a time when many endpoints may receive each, so that a statement stays small. */
async function readEventLimit(core: Database): Promise<number> {
  const [row] = await core.all<{ n: number }>(
    "SELECT count(*) AS n FROM webhook_endpoint WHERE is_active = 1",
  );
  return Math.min(Math.max(Math.floor(MAX_DELIVERIES / (row?.n || 1)), 1), MAX_EVENTS);
}

function listPendingEvents(outbox: Database, limit: number): Promise<PendingEvent[]> {
  return outbox.all<PendingEvent>(
    `SELECT seq, id, kind, network, source_id AS sourceId, owner_id AS ownerId,
       wallet_ids AS walletIds, record_id AS recordId FROM event
     WHERE seq > ifnull((SELECT seq FROM event_cursor WHERE id = 1), 0) ORDER BY seq LIMIT ?`,
    limit,
  );
}

function insertDeliveries(env: Env, events: PendingEvent[], now: number): Statement {
  const allowed = mayReceiveCondition(env, {
    kind: "v->>'kind'",
    network: "v->>'network'",
    sourceId: "v->>'sourceId'",
    ownerId: "v->>'ownerId'",
    walletIds: "v->>'walletIds'",
  });
  return statement(
    `INSERT INTO webhook_delivery (endpoint_id, event_id, event_seq, kind, network, source_id,
       owner_id, wallet_ids, record_id, status, attempt, failed_attempts, due_at, claimed_until, created_at)
     SELECT e.id, v->>'id', v->>'seq', v->>'kind', v->>'network', v->>'sourceId',
       v->>'ownerId', v->>'walletIds', v->>'recordId', 'Pending', 0, 0, ?, 0, ?
     FROM (SELECT value AS v FROM json_each(?)) JOIN ${ENDPOINTS_WITH_CREATOR_SQL}
     WHERE ${allowed.sql}
     ON CONFLICT DO NOTHING
     RETURNING endpoint_id AS endpointId`,
    now,
    now,
    JSON.stringify(events),
    ...allowed.params,
  );
}

function updateCursor(seq: number): Statement {
  return statement(
    `INSERT INTO event_cursor (id, seq) VALUES (1, ?)
     ON CONFLICT (id) DO UPDATE SET seq = max(event_cursor.seq, excluded.seq)`,
    seq,
  );
}
