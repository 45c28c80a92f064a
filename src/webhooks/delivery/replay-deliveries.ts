import { firstIdAt, newId } from "../../db/id.ts";
import { commitWithAudit } from "../../http/audit.ts";
import type { AppContext } from "../../http/context.ts";
import { toIsoTime } from "../../http/envelope.ts";
import { ApiError } from "../../http/errors.ts";
import { requireManagedEndpoint } from "../endpoints/find-endpoint.ts";
import { openReceiver } from "../endpoints/open-receiver.ts";
import { openCoreDatabase } from "../endpoints/update-endpoint.ts";
import { TEST_EVENT_KIND } from "../model/tables.ts";
import { enqueueEndpoints, repeatEndpointId } from "./enqueue-endpoints.ts";
import {
  type DeliveryFilter,
  listDeliveries,
  listDeliveriesToReplay,
  reopenDeliveries,
} from "./list-deliveries.ts";
import { readSendOptions, sendEvent } from "./send-event.ts";
import { computeOldestEventTime } from "./sweep-deliveries.ts";

/** Shorter than the request's own deadline. */
const TEST_DELIVERY_TIMEOUT_MS = 7_000;
const MAX_REPLAYED_DELIVERIES = 1_000;

/**
 * Sends a test event immediately, whether the endpoint is active or not. It is not in the delivery
 * log and does not affect the endpoint's health.
 *
 * @param now - epoch milliseconds
 * @throws ApiError 403, 404
 */
export async function testEndpoint(c: AppContext, webhookId: string, now: number) {
  const endpoint = await requireManagedEndpoint(c, openCoreDatabase(c), webhookId);
  const data = {
    message: "This is a test.",
    webhookName: endpoint.name,
    webhookFormat: endpoint.format,
    paymentSourceId: endpoint.sourceId,
    triggeredByApiKeyId: c.var.caller.id,
  };
  const event = { id: newId(now), kind: TEST_EVENT_KIND, sequence: 1, createdAt: now };
  const options = await readSendOptions(c.env, c.var.deadline);
  const { result, status, error, durationMs } = await sendEvent(
    await openReceiver(c.env, endpoint, now),
    { ...event, data: JSON.stringify(data) },
    { ...options, timeoutMs: TEST_DELIVERY_TIMEOUT_MS },
  );
  return {
    webhookId,
    success: result === "delivered",
    responseCode: status,
    errorMessage: error,
    durationMs,
  };
}

/**
 * Resends finished deliveries under the same ids, with the full number of attempts. These are the named
 * delivery, or up to a thousand deliveries of a time span, oldest first. A repeated call continues with
 * the next deliveries that failed or were cancelled. Resent successes stay the oldest, so a longer log
 * of successes needs smaller spans, by `since` and `until`.
 *
 * @param now - epoch milliseconds
 * @throws ApiError 403; 404 for an unknown webhook or delivery; 409 for an inactive webhook or an open
 *   delivery; 410 for an old one
 */
export async function replayDeliveries(
  c: AppContext,
  body: { webhookId: string } & DeliveryFilter,
  now: number,
) {
  const core = openCoreDatabase(c);
  const { webhookId, ...which } = body;
  const endpoint = await requireManagedEndpoint(c, core, webhookId);
  if (!endpoint.isActive)
    throw new ApiError("wrong_state", "webhookId: the webhook is not active. Set isActive first.");
  rejectExpired(which, computeOldestEventTime(c.env, now));
  const keys = await listDeliveriesToReplay(core, webhookId, which, MAX_REPLAYED_DELIVERIES);
  if (which.id !== undefined && keys.length === 0) {
    const [open] = await listDeliveries(
      core,
      { endpointId: webhookId, id: which.id },
      { limit: 1 },
    );
    throw open
      ? new ApiError("wrong_state", "id: the delivery is still open. Wait until it has ended.")
      : new ApiError(404, "id: there is no such delivery");
  }
  if (keys.length > 0) {
    const detail = { ...which, replayed: keys.length };
    await commitWithAudit(c, core, { action: "webhook.replay", target: webhookId, detail, now }, [
      reopenDeliveries(keys, now),
    ]);
    await enqueueEndpoints(c.env, repeatEndpointId(webhookId, keys.length), c.var.requestId);
  }
  return { replayed: keys.length };
}

/**
 * @param oldest - epoch milliseconds of the oldest event that the service keeps
 * @throws ApiError 410
 */
function rejectExpired({ id, since }: DeliveryFilter, oldest: number): void {
  const field = id !== undefined && id < firstIdAt(oldest) ? "id" : "since";
  if (field === "since" && (since === undefined || since >= oldest)) return;
  throw new ApiError(
    "event_expired",
    `${field}: the service has deleted events before ${toIsoTime(oldest)}. Read older changes from the diffs.`,
  );
}
