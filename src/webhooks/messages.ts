import type { DeliveryMessage, Env } from "../env.ts";
import { log } from "../log.ts";

/** What the platform takes in one call. */
const MESSAGES_PER_CALL = 100;

/**
 * Asks the consumer to send deliveries. What cannot be enqueued is no loss: it stays due in D1,
 * and the sweep finds it.
 *
 * @param delaySeconds - how long the messages are held back
 */
export async function enqueue(
  env: Pick<Env, "DELIVERIES">,
  messages: readonly DeliveryMessage[],
  delaySeconds = 0,
): Promise<void> {
  for (let i = 0; i < messages.length; i += MESSAGES_PER_CALL) {
    const chunk = messages.slice(i, i + MESSAGES_PER_CALL).map((body) => ({ body, delaySeconds }));
    try {
      await env.DELIVERIES.sendBatch(chunk);
    } catch (error) {
      log("warn", "deliveries.enqueue_failed", { messages: chunk.length, error: String(error) });
    }
  }
}
