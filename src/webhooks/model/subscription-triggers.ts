import { ENV_ADMIN_ID } from "../../api-keys/find-key.ts";
import { ENDPOINTS_WITH_CREATOR_SQL } from "./may-receive-condition.ts";

/** SQL: JSON array of the audiences that endpoint `e` of key `k` belongs to; see `audienceCondition`. */
const AUDIENCES_SQL = `CASE WHEN e.created_by_id = '${ENV_ADMIN_ID}' OR k.permission = 'Admin' THEN json_array('admin')
    ELSE json_insert((SELECT json_group_array(iif(k.wallet_limit IS NULL, 'network:', 'wallet:') || scope.value)
      FROM json_each(ifnull(k.wallet_limit, k.network_limit)) AS scope), '$[#]', 'key:' || k.id) END`;

/**
 * SQL condition: a subscription's audience may receive the event. These are all Admins, and the owner's
 * key. An event without an owner is for unbound keys of its network, and for keys that are bound to its
 * first wallet. `mayReceiveCondition` then judges each endpoint.
 *
 * @param audience - SQL of the audience
 */
export const audienceCondition = (audience: string) => `${audience} IN ('admin',
  iif(event.owner_id IS NULL, 'network:' || event.network, 'key:' || event.owner_id),
  iif(event.owner_id IS NULL, 'wallet:' || (event.wallet_ids ->> '$[0]'), NULL))`;

const insertSubscriptions = (which: string) =>
  `INSERT OR IGNORE INTO webhook_subscription (kind, source_id, audience, endpoint_id)
   SELECT subscribed.value, ifnull(e.source_id, ''), audience.value, e.id
   FROM ${ENDPOINTS_WITH_CREATOR_SQL}, json_each(e.events) AS subscribed, json_each(${AUDIENCES_SQL}) AS audience
   WHERE e.is_active AND e.deleted_at IS NULL AND ${which};`;

const deleteSubscriptions = (which: string) =>
  `DELETE FROM webhook_subscription WHERE endpoint_id ${which};`;

/** SQL: one of the columns changes. */
const anyChanges = (columns: readonly string[]) =>
  columns.map((column) => `old.${column} IS NOT new.${column}`).join(" OR ");

const ENDPOINT_COLUMNS = ["events", "source_id", "is_active", "created_by_id", "deleted_at"];
const KEY_COLUMNS = ["permission", "network_limit", "wallet_limit"];

/** Triggers that make `webhook_subscription` follow the endpoints and their keys, whoever writes these. */
export const SUBSCRIPTION_TRIGGERS = [
  `CREATE TRIGGER webhook_subscription_insert AFTER INSERT ON webhook_endpoint BEGIN
   ${insertSubscriptions("e.id = new.id")}
END`,
  `CREATE TRIGGER webhook_subscription_update AFTER UPDATE OF ${ENDPOINT_COLUMNS.join(", ")} ON webhook_endpoint
WHEN ${anyChanges(ENDPOINT_COLUMNS)} BEGIN
   ${deleteSubscriptions("= old.id")}
   ${insertSubscriptions("e.id = new.id")}
END`,
  `CREATE TRIGGER webhook_subscription_delete AFTER DELETE ON webhook_endpoint BEGIN
   ${deleteSubscriptions("= old.id")}
END`,
  `CREATE TRIGGER webhook_subscription_key AFTER UPDATE OF ${KEY_COLUMNS.join(", ")} ON api_key
WHEN ${anyChanges(KEY_COLUMNS)} BEGIN
   ${deleteSubscriptions("IN (SELECT id FROM webhook_endpoint WHERE created_by_id = new.id)")}
   ${insertSubscriptions("e.created_by_id = new.id")}
END`,
];
