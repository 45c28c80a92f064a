import { newId } from "../db/id.ts";
import { commitAudited } from "../http/audit.ts";
import type { AppContext } from "../http/context.ts";
import { ApiError } from "../http/errors.ts";
import { loopbackOrigins } from "../sources/development.ts";
import { type DeliveryFilter, deliveriesToReplay, listDeliveries, reopen } from "./deliveries.ts";
import { ownEndpoint } from "./endpoints.ts";
import { TEST_KIND } from "./kinds.ts";
import { coreOf } from "./manage.ts";
import { enqueue } from "./messages.ts";
import { openReceiver } from "./receiver.ts";
import { sendEvent } from "./send.ts";

/** Shorter than the request's own deadline. */
const TEST_TIMEOUT_MS = 7_000;
const MAX_REPLAYED = 1_000;

/**
 * Sends a test event at once, whether the endpoint is active or not. It leaves no trace in the
 * delivery log and says nothing about the endpoint's health.
 *
 * @param now - epoch milliseconds
 * @throws ApiError 403, 404
 */
export async function testEndpoint(c: AppContext, webhookId: string, now: number) {
  const endpoint = await ownEndpoint(c, coreOf(c), webhookId);
  const data = {
    message: "This is a test.",
    webhookName: endpoint.name,
    webhookFormat: endpoint.format,
    paymentSourceId: endpoint.sourceId,
    triggeredByApiKeyId: c.var.caller.id,
  };
  const { result, status, error, durationMs } = await sendEvent(
    await openReceiver(c.env, endpoint, now),
    { id: newId(now), kind: TEST_KIND, sequence: 1, createdAt: now, data: JSON.stringify(data) },
    {
      timeoutMs: TEST_TIMEOUT_MS,
      loopbackOrigins: await loopbackOrigins(c.env, c.var.deadline),
      resolverUrl: c.env.DNS_OVER_HTTPS_URL,
    },
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
 * Sends deliveries that are over again, under the same ids and with all attempts: the one that is
 * named, or up to a thousand of a span of time, oldest first. Asked again it goes on with the next
 * that failed or were cancelled; those that succeed do so again and stay the oldest, so a longer log
 * of successes takes spans of its own, by `since` and `until`.
 *
 * @param now - epoch milliseconds
 * @throws ApiError 403; 404 for an unknown webhook or delivery; 409 when the webhook is not active
 *   or the delivery is still open
 */
export async function replayDeliveries(
  c: AppContext,
  body: { webhookId: string } & DeliveryFilter,
  now: number,
) {
  const core = coreOf(c);
  const { webhookId, ...which } = body;
  const endpoint = await ownEndpoint(c, core, webhookId);
  if (!endpoint.isActive)
    throw new ApiError(409, "webhookId: is not active; revive it with isActive first");
  const keys = await deliveriesToReplay(core, webhookId, which, MAX_REPLAYED);
  if (which.id !== undefined && keys.length === 0) {
    const [open] = await listDeliveries(core, webhookId, { id: which.id }, { limit: 1 });
    throw open
      ? new ApiError(409, "id: is still being delivered")
      : new ApiError(404, "id: there is no such delivery");
  }
  if (keys.length > 0) {
    const detail = { ...which, replayed: keys.length };
    await commitAudited(c, core, { action: "webhook.replay", target: webhookId, detail, now }, [
      reopen(keys, now),
    ]);
    const { requestId } = c.var;
    await enqueue(
      c.env,
      keys.map((key) => ({ v: 1, requestId, ...key })),
    );
  }
  return { replayed: keys.length };
}
