/** The webhook of the local service: everything that happens arrives at a receiver beside it. */
import { EVENT_KINDS } from "../src/webhooks/kinds.ts";
import type { Receiver } from "./receiver.ts";
import type { Administered } from "./sources.ts";

const PATH = "/api/v1/webhooks";
const NAME = "Receiver of npm start";
const INBOX = "/webhooks";

/**
 * Points the webhook of the demo, a new one unless the state was kept, at the receiver, which
 * verifies by a secret of its own what arrives.
 *
 * @throws when the service refuses.
 */
export async function ensureWebhook(service: Administered, receiver: Receiver): Promise<void> {
  const url = `${receiver.url}${INBOX}`;
  const { Webhooks } = await ask<{ Webhooks: { id: string; name: string }[] }>(
    service,
    `${PATH}?limit=50`,
    { method: "GET" },
  );
  const kept = Webhooks.find(({ name }) => name === NAME);
  if (!kept) {
    const body = JSON.stringify({ url, name: NAME, Events: EVENT_KINDS });
    const { secret } = await ask<{ secret: string }>(service, PATH, { method: "POST", body });
    receiver.trust(INBOX, secret);
    return;
  }
  const webhookId = kept.id;
  await ask(service, PATH, {
    method: "PATCH",
    body: JSON.stringify({ webhookId, url, isActive: true }),
  });
  const { secret } = await ask<{ secret: string }>(service, `${PATH}/rotate-secret`, {
    method: "POST",
    body: JSON.stringify({ webhookId, overlapSeconds: 0, force: true }),
  });
  receiver.trust(INBOX, secret);
}

/** @throws with the answer when it is not 2xx. */
async function ask<Data>(
  { url, adminKey }: Administered,
  path: string,
  init: RequestInit,
): Promise<Data> {
  const response = await fetch(`${url}${path}`, { ...init, headers: { token: adminKey } });
  const text = await response.text();
  if (!response.ok) throw new Error(`${path}: ${response.status} ${text}`);
  return (JSON.parse(text) as { data: Data }).data;
}
