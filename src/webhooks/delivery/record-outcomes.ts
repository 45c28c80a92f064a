import { type Database, openDb, type Statement, statement } from "../../db/client.ts";
import type { Env } from "../../env.ts";
import { log } from "../../log.ts";
import { cancelDeliveries } from "../endpoints/cancel-deliveries.ts";
import { appendAttemptSql, lastAttemptAtSql, toLoggedAttempt } from "./attempt-log.ts";
import { buildClaimStatements, type Claim, toClaims } from "./claim-deliveries.ts";
import {
  endpointIdCondition,
  MAX_CONSECUTIVE_TIMEOUTS,
  selectEndpointsToClaim,
} from "./claimable-deliveries.ts";
import { computeNextAttemptAt, SCHEDULE_DURATION_MS } from "./retry-schedule.ts";
import type { DeliveryAttempt } from "./send-event.ts";

/** This many finally failed deliveries in a row disable an endpoint. */
export const MAX_CONSECUTIVE_FAILURES = 10;
/**
 * Bounds of an endpoint's back-off: it lasts as long as the endpoint has been silent, so that the
 * pauses double.
 */
const [MIN_PAUSE_MS, MAX_PAUSE_MS] = [15_000, 5 * 60_000];

/** What a claimed delivery becomes. */
export interface DeliveryOutcome {
  claim: Claim;
  /** Null: the endpoint may no longer receive the event, and nothing was sent. */
  attempt: DeliveryAttempt | null;
}

/** When an endpoint has a delivery to retry, or ends its pause; epoch milliseconds. */
export interface ScheduledWake {
  endpointId: string;
  at: number;
}

/**
 * Records the outcomes of claimed deliveries, and the health of their endpoints, in one batch. An
 * outcome applies only while its claim's attempt is the newest one and still open. A late or repeated
 * outcome therefore changes nothing, and no failure is counted twice.
 *
 * @param now - epoch milliseconds
 * @returns which endpoints have deliveries that may be claimed now, and when they will have others
 */
export async function recordOutcomes(
  env: Env,
  outcomes: readonly DeliveryOutcome[],
  now: number,
): Promise<{ unfinished: string[]; later: ScheduledWake[] }> {
  const endpointIds = [...new Set(outcomes.map(({ claim }) => claim.endpointId))];
  const core = openDb(env, undefined, { writes: "idempotent" });
  const left = selectEndpointsToClaim(endpointIdCondition(endpointIds), now);
  const { later, results } = await recordOutcomesInBatch(core, outcomes, now, [left]);
  const unfinished = (results[0]?.results ?? []) as { id: string }[];
  return { unfinished: unfinished.map(({ id }) => id), later };
}

/**
 * The same, and claims what the endpoints have next in the same batch. It is sent once, since a repeated
 * claim would claim other deliveries: when it fails, the outcomes may or may not be recorded.
 */
export async function recordAndClaim(
  env: Env,
  outcomes: readonly DeliveryOutcome[],
  endpointIds: readonly string[],
  now: number,
): Promise<{ claims: Claim[]; later: ScheduledWake[] }> {
  const next = buildClaimStatements(env, endpointIds, now);
  const { later, results } = await recordOutcomesInBatch(openDb(env), outcomes, now, next);
  return { claims: toClaims(results), later };
}

/** Releases claimed deliveries that were not sent. */
export async function releaseClaims(env: Env, claims: readonly Claim[]): Promise<void> {
  if (claims.length === 0) return;
  const keys = claims.map(({ endpointId, eventId, attempt }) => ({ endpointId, eventId, attempt }));
  // Sent once, since another consumer may claim the same attempt numbers.
  await openDb(env).batch([
    statement(
      `UPDATE webhook_delivery AS d SET claimed_until = 0, attempt = d.attempt - 1,
         last_attempt_at = ${lastAttemptAtSql("d.attempt_log")}
       FROM json_each(?) AS o WHERE ${CURRENT_CLAIM_CONDITION}`,
      JSON.stringify(keys),
    ),
  ]);
}

/** Records outcomes, and then runs more statements in the same batch. */
async function recordOutcomesInBatch(
  core: Database,
  outcomes: readonly DeliveryOutcome[],
  now: number,
  more: readonly Statement[],
): Promise<{ later: ScheduledWake[]; results: D1Result[] }> {
  const rows = outcomes.map((outcome) => toOutcomeRow(outcome, now));
  const json = JSON.stringify(rows);
  const failing = rows.filter(({ status }) => status !== "Success");
  const recording = [updateHealth(json, now), updateDeliveries(json)];
  // Nothing is disabled by a success.
  if (failing.length > 0)
    recording.push(
      cancelDeliveries(
        endpointIdCondition([...new Set(failing.map(({ endpointId }) => endpointId))]),
      ),
    );
  const results = await core.batch([...recording, ...more]);
  const endpoints = (results[0]?.results ?? []) as EndpointHealthRow[];
  // Its owner may have switched it off while a delivery was under way.
  for (const { id, disabledAt, failureCount } of endpoints)
    if (disabledAt === now) log("warn", "webhook.disabled", { endpoint: id, failureCount });
  const later = [
    ...rows.map(({ endpointId, dueAt }) => ({ endpointId, at: dueAt })),
    ...endpoints.map(({ id, pausedUntil }) => ({ endpointId: id, at: pausedUntil })),
  ].flatMap(({ endpointId, at }) => (at === null ? [] : [{ endpointId, at }]));
  return { later, results: results.slice(recording.length) };
}

interface EndpointHealthRow {
  id: string;
  disabledAt: number | null;
  failureCount: number;
  pausedUntil: number | null;
}

/** A delivery's new state, as statement parameters. `dueAt`: epoch milliseconds; null when it is over. */
function toOutcomeRow({ claim, attempt }: DeliveryOutcome, now: number) {
  const { endpointId, eventId, failedAttempts } = claim;
  const row = {
    endpointId,
    eventId,
    attempt: claim.attempt,
    gone: attempt?.result === "gone",
    // The receiver answered something.
    answered: attempt !== null && attempt.status !== null,
    timedOut: attempt?.timedOut ?? false,
    failedAttempts,
    dueAt: null,
    responseStatus: attempt?.status ?? null,
    error: attempt?.error ?? null,
    durationMs: attempt?.durationMs ?? null,
    logged: toLoggedAttempt(claim.attempt, attempt),
  };
  if (attempt === null)
    return { ...row, status: "Cancelled", error: "the webhook may no longer receive this event" };
  if (attempt.result === "delivered") return { ...row, status: "Success" };
  const failed = failedAttempts + 1;
  const dueAt =
    attempt.result === "gone" ? null : computeNextAttemptAt(failed, now, attempt.retryAfterMs);
  return {
    ...row,
    status: dueAt === null ? "Failed" : "Retrying",
    failedAttempts: failed,
    dueAt,
  };
}

/** SQL: outcome row `o.value` is that of delivery `d` as it was claimed. */
const CURRENT_CLAIM_CONDITION = `d.endpoint_id = o.value->>'endpointId' AND d.event_id = o.value->>'eventId'
  AND d.attempt = o.value->>'attempt' AND d.claimed_until > 0`;

/** One row per endpoint, however many of its deliveries ended; none when nothing changes. */
function updateHealth(outcomes: string, now: number): Statement {
  const isSilent = "(health.timed_out > 0 AND NOT health.answered)";
  const reason = `CASE WHEN NOT is_active THEN NULL
    WHEN health.gone THEN 'the receiver answered 410'
    WHEN NOT health.delivered AND failure_count + health.failed >= ${MAX_CONSECUTIVE_FAILURES}
      THEN '${MAX_CONSECUTIVE_FAILURES} deliveries in a row failed'
    WHEN ${isSilent} AND silent_since <= ?1 - ${SCHEDULE_DURATION_MS}
      THEN 'no attempt was answered in time for three days' END`;
  return statement(
    `UPDATE webhook_endpoint SET
       failure_count = iif(health.delivered, 0, failure_count + health.failed),
       last_success_at = iif(health.delivered, ?1, last_success_at),
       disabled_at = iif(${reason} IS NULL, disabled_at, ?1),
       disabled_reason = ifnull(${reason}, disabled_reason),
       is_active = iif(${reason} IS NULL, is_active, 0),
       timeouts = iif(health.answered, 0, timeouts + health.timed_out),
       silent_since = CASE WHEN health.answered THEN NULL
         WHEN ${isSilent} THEN ifnull(silent_since, ?1) ELSE silent_since END,
       paused_until = CASE WHEN health.answered THEN NULL
         WHEN ${isSilent} AND timeouts + health.timed_out >= ${MAX_CONSECUTIVE_TIMEOUTS} THEN ?1 + min(
           max(?1 - ifnull(silent_since, ?1), ${MIN_PAUSE_MS}), ${MAX_PAUSE_MS})
         ELSE paused_until END
     FROM (SELECT d.endpoint_id AS endpoint_id, max(o.value->>'status' = 'Success') AS delivered,
             sum(o.value->>'status' = 'Failed') AS failed, max(o.value->>'gone') AS gone,
             max(o.value->>'answered') AS answered, sum(o.value->>'timedOut') AS timed_out
           FROM json_each(?2) AS o CROSS JOIN webhook_delivery AS d ON ${CURRENT_CLAIM_CONDITION}
           GROUP BY d.endpoint_id) AS health
     WHERE id = health.endpoint_id AND (health.delivered OR health.failed > 0
       OR health.timed_out > 0 OR (health.answered AND timeouts > 0))
     RETURNING id, disabled_at AS disabledAt, failure_count AS failureCount,
       paused_until AS pausedUntil`,
    now,
    outcomes,
  );
}

function updateDeliveries(outcomes: string): Statement {
  return statement(
    `UPDATE webhook_delivery AS d SET claimed_until = 0, status = o.value->>'status',
       failed_attempts = o.value->>'failedAttempts', due_at = o.value->>'dueAt',
       response_status = o.value->>'responseStatus', error = o.value->>'error',
       duration_ms = o.value->>'durationMs',
       attempt_log = ${appendAttemptSql("d.attempt_log", "o.value->>'logged'", "d.last_attempt_at")}
     FROM json_each(?) AS o WHERE ${CURRENT_CLAIM_CONDITION}`,
    outcomes,
  );
}
