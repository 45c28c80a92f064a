import { type Database, openDb, type Statement, statement } from "../../db/client.ts";
import type { Env } from "../../env.ts";
import { RECEIVER_COLUMNS, type SealedReceiver } from "../endpoints/open-receiver.ts";
import {
  ENDPOINTS_WITH_CREATOR_SQL,
  eventColumnsOf,
  mayReceiveCondition,
  SEES_NOTES_CONDITION,
} from "../model/may-receive-condition.ts";
import {
  claimableDeliveriesSql,
  endpointIdCondition,
  MAX_CLAIMS,
  MAX_CLAIMS_PER_ENDPOINT,
} from "./claimable-deliveries.ts";

/**
 * How long a claim lasts: longer than the longest attempt with its database calls. Then any
 * consumer may claim the delivery.
 */
const CLAIM_TTL_MS = 60_000;

/** A delivery that this invocation may send until the claim expires. */
export interface Claim {
  endpointId: string;
  eventId: string;
  eventSeq: number;
  network: string;
  /** Fences the outcome. */
  attempt: number;
  failedAttempts: number;
  /** The receiver, still sealed; null when it may no longer receive the event. */
  receiver: ClaimedReceiver | null;
}

/** A receiver and what it may see. */
export interface ClaimedReceiver extends SealedReceiver {
  /** The key that created the endpoint. */
  createdById: string;
  /** Whether the key sees notes of other keys. 0: only its own notes. */
  seesNotes: number;
}

type ClaimedRow = Omit<Claim, "receiver"> & { permitted: number };

/**
 * Claims due, unclaimed deliveries of the endpoints, round-robin over the endpoints, at most
 * `MAX_CLAIMS` in all and `MAX_CLAIMS_PER_ENDPOINT` of each.
 *
 * @param now - epoch milliseconds
 */
export async function claimDeliveries(
  env: Env,
  endpointIds: readonly string[],
  now: number,
): Promise<Claim[]> {
  const which = endpointIdCondition(endpointIds);
  const results = await openDb(env).batch([
    ...buildClaimStatements(env, endpointIds, now),
    // Records that the sweep's messages have arrived.
    statement(
      `UPDATE webhook_endpoint AS e SET enqueued_until = NULL
       WHERE enqueued_until IS NOT NULL AND ${which.sql}`,
      ...which.params,
    ),
  ]);
  return toClaims(results);
}

/**
 * Claims: two statements, whose results `toClaims` reads. To be sent once: a claim whose answer is lost
 * expires, while a second one would claim other deliveries.
 *
 * @param now - epoch milliseconds
 */
export function buildClaimStatements(
  env: Env,
  endpointIds: readonly string[],
  now: number,
): Statement[] {
  const allowed = mayReceiveCondition(env, eventColumnsOf("webhook_delivery"));
  const which = endpointIdCondition(endpointIds);
  const share = claimableDeliveriesSql(which, now);
  return [
    statement(
      `UPDATE webhook_delivery SET attempt = attempt + 1, claimed_until = ?, last_attempt_at = ?
       WHERE (endpoint_id, event_id) IN (
         SELECT endpoint_id, event_id FROM (${share.sql}) WHERE turn <= ${MAX_CLAIMS_PER_ENDPOINT}
         ORDER BY turn LIMIT ${MAX_CLAIMS})
       RETURNING endpoint_id AS endpointId, event_id AS eventId, event_seq AS eventSeq, network,
         attempt, failed_attempts AS failedAttempts,
         (SELECT ${allowed.sql} FROM ${ENDPOINTS_WITH_CREATOR_SQL}
          WHERE e.id = webhook_delivery.endpoint_id) AS permitted`,
      now + CLAIM_TTL_MS,
      now,
      ...share.params,
      ...allowed.params,
    ),
    statement(
      `SELECT ${RECEIVER_COLUMNS}, e.created_by_id AS createdById,
         ${SEES_NOTES_CONDITION} AS seesNotes
       FROM ${ENDPOINTS_WITH_CREATOR_SQL} WHERE ${which.sql}`,
      ...which.params,
    ),
  ];
}

/** The claims that the statements of `buildClaimStatements` made, the endpoints in turns. */
export function toClaims([claimed, receivers]: readonly D1Result[]): Claim[] {
  const found = new Map(
    ((receivers?.results ?? []) as ClaimedReceiver[]).map((receiver) => [receiver.id, receiver]),
  );
  const byEndpoint = Map.groupBy(
    (claimed?.results ?? []) as ClaimedRow[],
    ({ endpointId }) => endpointId,
  );
  const turns = Array.from({ length: MAX_CLAIMS_PER_ENDPOINT }, (_, turn) =>
    [...byEndpoint.values()].flatMap((rows) => rows[turn] ?? []),
  );
  return turns.flat().map(({ permitted, ...row }) => ({
    ...row,
    receiver: (permitted && found.get(row.endpointId)) || null,
  }));
}

/** A stored event. */
export interface EventRow {
  seq: number;
  id: string;
  kind: string;
  sequence: number;
  data: string;
  createdAt: number;
  /** The API key of the record that it is about, which noted something on it; null: nothing is noted. */
  notedById: string | null;
  /** `data` with what was noted. */
  noted: string | null;
}

/** Events by `seq`; purged ones are missing. */
export async function readEvents(
  outbox: Database,
  seqs: readonly number[],
): Promise<Map<number, EventRow>> {
  const rows = await outbox.all<EventRow>(
    `SELECT seq, id, kind, sequence, data, created_at AS createdAt,
       iif(metadata IS NULL, NULL, requested_by_id) AS notedById,
       iif(metadata IS NULL, NULL, json_set(data, '$.metadata', metadata)) AS noted
     FROM event LEFT JOIN escrow_request ON escrow_request.record_id = event.record_id
     WHERE seq IN (SELECT value FROM json_each(?))`,
    JSON.stringify(seqs),
  );
  return new Map(rows.map((row) => [row.seq, row]));
}
