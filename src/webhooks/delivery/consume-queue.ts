import { openDb } from "../../db/client.ts";
import { newId } from "../../db/id.ts";
import type { DeliveryMessage, Env, EventsWakeMessage } from "../../env.ts";
import { beginIncidents } from "../../events/incidents.ts";
import { wakeDispatcher } from "../../events/outbox.ts";
import { log } from "../../log.ts";
import { deliverEvents } from "./deliver-events.ts";
import { dispatchEvents } from "./dispatch-events.ts";

/** Bridges a short database outage. */
const RETRY_DELAY_S = 10;
/** The ending of dead-letter queues' names; see `wrangler.toml`. */
const DEAD_LETTER_SUFFIX = "-dead";

/**
 * Handles a batch of any of our queues: the message, not the name of its queue, decides what is
 * done. Messages only wake: the work is in D1, so a lost or duplicate one changes nothing. A batch
 * that fails is redelivered, and finally goes to its dead-letter queue, where it is reported; the
 * cron's sweep does what it asked for.
 */
export async function consumeQueue(
  batch: MessageBatch<unknown>,
  env: Env,
  ctx: Pick<ExecutionContext, "waitUntil">,
): Promise<void> {
  const { queue, messages } = batch;
  if (queue.endsWith(DEAD_LETTER_SUFFIX)) {
    log("error", "queue.messages_dead", { queue, messages: messages.length });
    return reportDeadLetters(batch, env);
  }
  try {
    await handleMessages(messages.map(({ body }) => body) as MessageBody[], env, ctx);
    batch.ackAll();
  } catch (error) {
    log("error", "queue.batch_failed", { queue, error: String(error) });
    batch.retryAll({ delaySeconds: RETRY_DELAY_S });
  }
}

/** Reports dead messages to Admins, once per incident. */
async function reportDeadLetters(batch: MessageBatch<unknown>, env: Env): Promise<void> {
  const { queue, messages } = batch;
  const now = Date.now();
  const incident = { subject: queue, sourceId: null, data: { queue, messages: messages.length } };
  try {
    await openDb(env).batch(beginIncidents("QUEUE_DEAD", [incident], now, true));
    await wakeDispatcher(env, newId(now));
    batch.ackAll();
  } catch (error) {
    log("error", "queue.dead_untold", { queue, error: String(error) });
    batch.retryAll({ delaySeconds: RETRY_DELAY_S });
  }
}

type MessageBody = EventsWakeMessage | DeliveryMessage;

async function handleMessages(
  bodies: readonly MessageBody[],
  env: Env,
  ctx: Pick<ExecutionContext, "waitUntil">,
): Promise<void> {
  const deliveries = bodies.filter((body) => "endpointId" in body);
  const [wake] = bodies.filter((body) => !("endpointId" in body));
  if (wake) await dispatchEvents(env, wake.requestId);
  if (deliveries.length > 0) await deliverEvents(env, deliveries, (work) => ctx.waitUntil(work));
}
