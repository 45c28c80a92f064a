import type { DeliveryMessage, Env, EventsWake } from "../env.ts";
import { log } from "../log.ts";
import { deliver, giveUp } from "./deliver.ts";
import { dispatchEvents } from "./dispatch.ts";

/** Long enough for a hiccup of the database to pass. */
const RETRY_AFTER_S = 10;

/**
 * Handles a batch of any of our queues. Messages only wake: what they are about is in D1, so one
 * that is lost or doubled changes nothing. A batch that fails comes again, and in the end to its
 * dead-letter queue.
 */
export async function consumeQueue(batch: MessageBatch<unknown>, env: Env): Promise<void> {
  const messages = batch.messages.map(({ body }) => body);
  try {
    await consume(batch.queue, messages, env);
    batch.ackAll();
  } catch (error) {
    log("error", "queue.batch_failed", { queue: batch.queue, error: String(error) });
    batch.retryAll({ delaySeconds: RETRY_AFTER_S });
  }
}

async function consume(queue: string, messages: unknown[], env: Env): Promise<void> {
  const [first] = messages as EventsWake[];
  switch (queue) {
    case "events":
      return dispatchEvents(env, first?.requestId ?? "");
    case "deliveries":
      return deliver(env, messages as DeliveryMessage[]);
    case "deliveries-dead":
      return giveUp(env, messages as DeliveryMessage[]);
    case "events-dead":
      // The sweep of the cron fans the events out.
      return log("error", "events.wake_dead", { messages: messages.length });
    default:
      throw new Error(`no consumer for queue ${queue}`);
  }
}
