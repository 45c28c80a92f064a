import { db, type Statement, statement } from "../db/client.ts";
import type { Env } from "../env.ts";
import { log } from "../log.ts";
import type { Claim } from "./claim.ts";
import { nextAttemptAt } from "./retries.ts";
import type { Attempt } from "./send.ts";

/** So many deliveries in a row that failed for good disable an endpoint. */
export const MAX_FAILURES = 10;
/** Deliveries that one statement cancels; the sweep goes on with the rest. */
const CANCELLED_AT_ONCE = 1_000;

/** What a claimed delivery becomes. */
export interface Outcome {
  claim: Claim;
  /** Null: the endpoint may not have the event any more, and nothing was sent. */
  attempt: Attempt | null;
}

/** A delivery's new state, as the statements take it. */
interface OutcomeRow {
  endpointId: string;
  eventId: string;
  attempt: number;
  status: "Retrying" | "Success" | "Failed" | "Cancelled";
  /** The receiver answered 410. */
  gone: boolean;
  failedAttempts: number;
  /** Epoch milliseconds; null when it is over. */
  dueAt: number | null;
  responseStatus: number | null;
  error: string | null;
  durationMs: number | null;
}

/** A delivery that is to be tried again. */
export interface Retry {
  endpointId: string;
  eventId: string;
  dueAt: number;
}

/**
 * Writes what became of claimed deliveries, and the health of their endpoints, in one batch. Each
 * outcome holds only while its claim's attempt is the newest and still open, so one that comes late
 * or twice changes nothing, and no failure is counted twice.
 *
 * @param now - epoch milliseconds
 * @returns the deliveries that are to be tried again, whether or not the outcome was in time
 */
export async function recordOutcomes(
  env: Env,
  outcomes: readonly Outcome[],
  now: number,
): Promise<Retry[]> {
  const rows = outcomes.map((outcome) => outcomeRow(outcome, now));
  const json = JSON.stringify(rows);
  const endpointIds = JSON.stringify([...new Set(rows.map(({ endpointId }) => endpointId))]);
  const core = db(env, undefined, { writes: "idempotent" });
  const [health] = await core.batch([
    updateHealth(json, now),
    updateDeliveries(json),
    cancelOpen({ sql: "e.id IN (SELECT value FROM json_each(?))", params: [endpointIds] }),
  ]);
  for (const { id, isActive, failureCount } of (health?.results ?? []) as HealthRow[])
    if (!isActive) log("warn", "webhook.disabled", { endpoint: id, failureCount });
  return rows.flatMap(({ endpointId, eventId, dueAt }) =>
    dueAt === null ? [] : [{ endpointId, eventId, dueAt }],
  );
}

interface HealthRow {
  id: string;
  isActive: number;
  failureCount: number;
}

function outcomeRow({ claim, attempt }: Outcome, now: number): OutcomeRow {
  const { endpointId, eventId, failedAttempts } = claim;
  const row = {
    endpointId,
    eventId,
    attempt: claim.attempt,
    gone: attempt?.result === "gone",
    failedAttempts,
    dueAt: null,
    responseStatus: attempt?.status ?? null,
    error: attempt?.error ?? null,
    durationMs: attempt?.durationMs ?? null,
  };
  if (attempt === null)
    return { ...row, status: "Cancelled", error: "the endpoint may not receive this event" };
  if (attempt.result === "delivered") return { ...row, status: "Success" };
  const failed = failedAttempts + 1;
  const dueAt = attempt.result === "gone" ? null : nextAttemptAt(failed, now, attempt.retryAfterMs);
  return {
    ...row,
    status: dueAt === null ? "Failed" : "Retrying",
    failedAttempts: failed,
    dueAt,
  };
}

/** SQL: outcome row `o.value` is that of delivery `d` as it was claimed. */
const IS_CURRENT = `d.endpoint_id = o.value->>'endpointId' AND d.event_id = o.value->>'eventId'
  AND d.attempt = o.value->>'attempt' AND d.claimed_until > 0`;

/** One row per endpoint, however many of its deliveries ended, and none when none did. */
function updateHealth(outcomes: string, now: number): Statement {
  const disables = `(is_active AND (health.gone
    OR (NOT health.delivered AND failure_count + health.failed >= ${MAX_FAILURES})))`;
  return statement(
    `UPDATE webhook_endpoint SET
       failure_count = iif(health.delivered, 0, failure_count + health.failed),
       last_success_at = iif(health.delivered, ?1, last_success_at),
       disabled_at = iif(${disables}, ?1, disabled_at),
       disabled_reason = iif(${disables}, iif(health.gone, 'the receiver answered 410',
         '${MAX_FAILURES} deliveries in a row failed'), disabled_reason),
       is_active = iif(${disables}, 0, is_active)
     FROM (SELECT d.endpoint_id AS endpoint_id, max(o.value->>'status' = 'Success') AS delivered,
             sum(o.value->>'status' = 'Failed') AS failed, max(o.value->>'gone') AS gone
           FROM json_each(?2) AS o CROSS JOIN webhook_delivery AS d ON ${IS_CURRENT}
           GROUP BY d.endpoint_id) AS health
     WHERE id = health.endpoint_id AND (health.delivered OR health.failed > 0)
     RETURNING id, is_active AS isActive, failure_count AS failureCount`,
    now,
    outcomes,
  );
}

function updateDeliveries(outcomes: string): Statement {
  return statement(
    `UPDATE webhook_delivery AS d SET claimed_until = 0, status = o.value->>'status',
       failed_attempts = o.value->>'failedAttempts', due_at = o.value->>'dueAt',
       response_status = o.value->>'responseStatus', error = o.value->>'error',
       duration_ms = o.value->>'durationMs'
     FROM json_each(?) AS o WHERE ${IS_CURRENT}`,
    outcomes,
  );
}

/**
 * Cancels what is still open for endpoints that are not active, up to a thousand at once.
 *
 * @param which - an SQL condition on endpoint `e`; default: all of them
 */
export function cancelOpen(
  which: { sql: string; params: unknown[] } = { sql: "TRUE", params: [] },
): Statement {
  return statement(
    `UPDATE webhook_delivery SET status = 'Cancelled', due_at = NULL
     WHERE (endpoint_id, event_id) IN (
       SELECT d.endpoint_id, d.event_id FROM webhook_endpoint e
         CROSS JOIN webhook_delivery d ON d.endpoint_id = e.id AND d.due_at IS NOT NULL
       WHERE NOT e.is_active AND (${which.sql}) LIMIT ${CANCELLED_AT_ONCE})`,
    ...which.params,
  );
}
