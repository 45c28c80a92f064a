import type { DeliveryMessage, Env } from "../../env.ts";
import { log } from "../../log.ts";
import { MAX_CLAIMS_PER_ENDPOINT } from "./claimable-deliveries.ts";

/** The platform's limit per call. */
const MESSAGES_PER_CALL = 100;

/**
 * Asks the consumer to send what is due for endpoints, one message per entry of the list. Nothing
 * is lost when enqueuing fails: the deliveries stay due in D1, and the sweep finds them.
 *
 * @param delaySeconds - how long the messages are held back, whole seconds
 */
export async function enqueueEndpoints(
  env: Pick<Env, "DELIVERIES">,
  endpointIds: readonly string[],
  requestId: string,
  delaySeconds = 0,
): Promise<void> {
  const messages = endpointIds.map((endpointId) => {
    const body: DeliveryMessage = { v: 1, requestId, endpointId };
    return { body, delaySeconds };
  });
  for (let i = 0; i < messages.length; i += MESSAGES_PER_CALL) {
    const chunk = messages.slice(i, i + MESSAGES_PER_CALL);
    try {
      await env.DELIVERIES.sendBatch(chunk);
    } catch (error) {
      log("warn", "deliveries.enqueue_failed", { messages: chunk.length, error: String(error) });
    }
  }
}

/**
 * An endpoint, once for each message that its deliveries need. A second message is needed when one
 * consumer does not claim all of the deliveries. Two consumers have the endpoint's whole
 * share in flight.
 */
export function repeatEndpointId(endpointId: string, deliveries: number): string[] {
  return Array(Math.min(Math.ceil(deliveries / MAX_CLAIMS_PER_ENDPOINT), 2)).fill(endpointId);
}
