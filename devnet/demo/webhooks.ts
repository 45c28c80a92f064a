/** The webhook of the local service: everything that happens arrives at a receiver beside it. */
import { EVENT_KINDS } from "../../src/events/event-kinds.ts";
import { type ApiAccess, ask } from "../client/api.ts";
import type { Receiver } from "./receiver.ts";

const PATH = "/webhooks";
const NAME = "Receiver of npm start";
const INBOX = "/webhooks";

/**
 * Sends the demo's webhook to the receiver, which verifies deliveries with its secret. The webhook
 * is new unless the state was stored.
 *
 * @throws when the service refuses.
 */
export async function ensureWebhook(service: ApiAccess, receiver: Receiver): Promise<void> {
  const url = `${receiver.url}${INBOX}`;
  const { Webhooks } = await ask<{ Webhooks: { id: string; name: string }[] }>(
    service,
    "GET",
    `${PATH}?limit=50`,
  );
  const existing = Webhooks.find(({ name }) => name === NAME);
  if (!existing) {
    const body = { url, name: NAME, Events: EVENT_KINDS };
    const { secret } = await ask<{ secret: string }>(service, "POST", PATH, body);
    receiver.trust(INBOX, secret);
    return;
  }
  const webhookId = existing.id;
  await ask(service, "PATCH", PATH, { webhookId, url, isActive: true });
  const { secret } = await ask<{ secret: string }>(service, "POST", `${PATH}/rotate-secret`, {
    webhookId,
    overlapSeconds: 0,
    force: true,
  });
  receiver.trust(INBOX, secret);
}
