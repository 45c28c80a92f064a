import { ENV_ADMIN_ID } from "../../api-keys/find-key.ts";
import type { SqlExpression } from "../../db/clock.ts";
import type { Env } from "../../env.ts";

/** Endpoints `e` with the key that created them, for `mayReceiveCondition`. */
export const ENDPOINTS_WITH_CREATOR_SQL =
  "webhook_endpoint e LEFT JOIN api_key k ON k.id = e.created_by_id";

/** SQL: the key is shown what is noted on every record that it gets, as in answers; else on its own. */
export const SEES_NOTES_CONDITION = `(e.created_by_id = '${ENV_ADMIN_ID}' OR k.permission = 'Admin'
  OR k.wallet_limit IS NOT NULL)`;

/** SQL of the columns of an event, which a delivery copies, for `mayReceiveCondition`. */
export const eventColumnsOf = (table: "event" | "webhook_delivery") => ({
  kind: `${table}.kind`,
  network: `${table}.network`,
  sourceId: `${table}.source_id`,
  ownerId: `${table}.owner_id`,
  walletIds: `${table}.wallet_ids`,
});

/**
 * SQL condition: endpoint `e` is active, subscribed, and for all sources or the event's source. The key
 * that created the endpoint still has +PAY access and the event's network. The event is for this key,
 * or this key is an Admin's. A key that is bound to wallets receives only events about these wallets.
 *
 * The service checks the condition when an event is fanned out, and again at each attempt. Three days
 * lie between the first attempt and the last.
 *
 * @param event - SQL of the event's columns
 */
export function mayReceiveCondition(
  env: Pick<Env, "ADMIN_KEY">,
  event: ReturnType<typeof eventColumnsOf>,
): SqlExpression {
  return {
    sql: `(e.is_active
      AND EXISTS (SELECT 1 FROM json_each(e.events) AS subscribed
                  WHERE subscribed.value = ${event.kind})
      AND (e.source_id IS NULL OR e.source_id = ${event.sourceId})
      AND CASE WHEN e.created_by_id = '${ENV_ADMIN_ID}' THEN ?
        ELSE k.status = 'Active' AND (k.permission = 'Admin' OR (k.can_pay
          AND ifnull(${event.ownerId} = k.id, TRUE)
          AND (k.wallet_limit IS NULL OR ${event.ownerId} IS NOT NULL OR ${walletScopeCondition(event.walletIds)})
          AND EXISTS (SELECT 1 FROM json_each(k.network_limit) AS allowed
                      WHERE allowed.value = ${event.network}))) END)`,
    // Without the secret there is no such key, and its endpoints have no owner.
    params: [env.ADMIN_KEY ? 1 : 0],
  };
}

/** SQL that an event is about wallets, and about none but those that key `k` is bound to. */
function walletScopeCondition(walletIds: string): string {
  return `(SELECT min(about.value IN (SELECT value FROM json_each(k.wallet_limit)))
    FROM json_each(coalesce(${walletIds}, '[]')) AS about)`;
}
