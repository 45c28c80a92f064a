import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { ask } from "../../devnet/client/api.ts";
import { type Receiver, startReceiver } from "../../devnet/demo/receiver.ts";
import { type Host, startHost } from "../../devnet/host.ts";
import { developmentSecrets } from "../../devnet/secrets.ts";
import { newId } from "../../src/db/id.ts";

/** What only one of the two endpoints is subscribed to. */
const [HELD, PROMPT] = ["X402_PAYMENT_FAILED", "X402_PAYMENT_SETTLED"];
const HELD_EVENTS = 40;
const WAIT = { timeout: 60_000, interval: 50 };

let folder: string;
let receiver: Receiver;
let host: Host;
let token: string;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "webhooks-"));
  receiver = await startReceiver();
  const secrets = developmentSecrets(join(folder, ".dev.vars"));
  token = secrets.ADMIN_KEY;
  host = await startHost({
    bindings: {
      ...secrets,
      LOOPBACK_ORIGINS: receiver.url,
      WEBHOOK_TIMEOUT_MS: "25000",
    },
  });
});
afterAll(async () => {
  await host.close();
  await receiver.close();
  rmSync(folder, { recursive: true, force: true });
});

async function subscribe(path: string, kind: string): Promise<void> {
  const url = `${receiver.url}${path}`;
  await ask({ url: host.url, token }, "POST", "/webhooks", { url, Events: [kind] });
}

/** Commits events as a change would, and fires the cron, which fans them out. */
async function happen(kind: string, count: number): Promise<void> {
  const ids = Array.from({ length: count }, () => newId(Date.now()));
  await host.d1
    .prepare(
      `INSERT INTO event (id, kind, network, record_id, sequence, data, created_at)
       SELECT value, ?, 'Preprod', value, 1, '{}', ? FROM json_each(?)`,
    )
    .bind(kind, Date.now(), JSON.stringify(ids))
    .run();
  await host.scheduled();
}

test("the queue delivers to others while a receiver leaves all of its requests open", {
  timeout: 120_000,
}, async () => {
  await subscribe("/held?answer=hold", HELD);
  await subscribe("/prompt", PROMPT);
  await happen(HELD, HELD_EVENTS);
  await vi.waitUntil(() => receiver.arrivals("/held").length > 0, WAIT);

  await happen(PROMPT, 1);
  await vi.waitUntil(() => receiver.arrivals("/prompt").length === 1, WAIT);
  // None has ended: an endpoint has no more than its share under way until the first of them does.
  expect(receiver.arrivals("/held").length).toBeLessThanOrEqual(12);

  await fetch(`${receiver.url}/held`, { method: "PATCH" });
  const held = () =>
    new Set(receiver.arrivals("/held").map(({ headers }) => headers["webhook-id"]));
  await vi.waitUntil(() => held().size === HELD_EVENTS, WAIT);
});
