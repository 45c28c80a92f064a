import { MAX_CONCURRENT_FETCHES } from "../../connections.ts";
import { type Statement, statement } from "../../db/client.ts";
import type { SqlExpression } from "../../db/clock.ts";

/** What one invocation claims of all endpoints: a claim costs about as much for one as for many. */
export const MAX_CLAIMS = 3 * MAX_CONCURRENT_FETCHES;
/** What one invocation claims of an endpoint. */
export const MAX_CLAIMS_PER_ENDPOINT = 6;
/** Deliveries of one endpoint in flight, over all consumers. */
const MAX_IN_FLIGHT = 2 * MAX_CLAIMS_PER_ENDPOINT;
/** This many timed-out attempts in a row make an endpoint back off as a whole. */
export const MAX_CONSECUTIVE_TIMEOUTS = 3;

/**
 * SQL of the deliveries that may be claimed now: `endpoint_id`, `event_id` and `turn`. The turn counts
 * the deliveries of each endpoint from 1, the longest due first.
 *
 * Of each endpoint only the `MAX_IN_FLIGHT` longest due deliveries are read, including those in flight.
 * So no endpoint has more in flight, and a long backlog costs no more reads than a short one. An
 * endpoint that backs off has no turn until its pause ends. Then it has one delivery at a time until a
 * receiver answers.
 *
 * @param which - a condition on endpoint `e`
 * @param now - epoch milliseconds
 * @param dueAt - epoch milliseconds; only what was due by then
 */
export function claimableDeliveriesSql(
  which: SqlExpression,
  now: number,
  dueAt = now,
): SqlExpression {
  return {
    sql: `SELECT endpoint_id, event_id, row_number() OVER (
        PARTITION BY endpoint_id ORDER BY place) AS turn
      FROM (
        SELECT d.endpoint_id, d.event_id, d.claimed_until, e.timeouts,
          row_number() OVER (PARTITION BY d.endpoint_id ORDER BY d.due_at, d.event_id) AS place
        FROM webhook_endpoint e CROSS JOIN webhook_delivery d ON d.endpoint_id = e.id
          AND d.event_id IN (
            SELECT event_id FROM webhook_delivery WHERE endpoint_id = e.id AND due_at <= ?
            ORDER BY due_at, event_id LIMIT ${MAX_IN_FLIGHT})
        WHERE ifnull(e.paused_until, 0) <= ? AND (${which.sql}))
      WHERE claimed_until <= ? AND place <= iif(timeouts >= ${MAX_CONSECUTIVE_TIMEOUTS}, 1, ${MAX_IN_FLIGHT})`,
    params: [dueAt, now, ...which.params, now],
  };
}

/** Reads which of the endpoints have deliveries that may be claimed now, by `id`. */
export function selectEndpointsToClaim(which: SqlExpression, now: number): Statement {
  const { sql, params } = claimableDeliveriesSql(which, now);
  return statement(`SELECT DISTINCT endpoint_id AS id FROM (${sql})`, ...params);
}

/** SQL condition: endpoint `e` is one of these. */
export function endpointIdCondition(endpointIds: readonly string[]): SqlExpression {
  return {
    sql: "e.id IN (SELECT value FROM json_each(?))",
    params: [JSON.stringify(endpointIds)],
  };
}
