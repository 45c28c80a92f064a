import { type Statement, statement } from "../../db/client.ts";
import type { SqlExpression } from "../../db/clock.ts";

/** Deliveries that one statement cancels; the sweep cancels the rest. */
const MAX_CANCELLED_DELIVERIES = 1_000;

/**
 * Cancels open deliveries of inactive endpoints, up to a thousand at a time.
 *
 * @param which - an SQL condition on endpoint `e`; default: all of them
 */
export function cancelDeliveries(which: SqlExpression = { sql: "TRUE", params: [] }): Statement {
  return statement(
    `UPDATE webhook_delivery SET status = 'Cancelled', due_at = NULL
     WHERE (endpoint_id, event_id) IN (
       SELECT d.endpoint_id, d.event_id FROM webhook_endpoint e
         CROSS JOIN webhook_delivery d ON d.endpoint_id = e.id AND d.due_at IS NOT NULL
       WHERE NOT e.is_active AND (${which.sql}) LIMIT ${MAX_CANCELLED_DELIVERIES})`,
    ...which.params,
  );
}
