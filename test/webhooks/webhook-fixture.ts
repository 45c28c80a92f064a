import { env } from "cloudflare:workers";
import { emptyTables } from "../support/app.ts";
import { wrapD1 } from "../support/d1.ts";
import { insertKey } from "../support/keys.ts";
import { publicUrl } from "../support/names.ts";
import { WebhookService } from "../support/webhooks/receivers.ts";

/** What `openWebhookFixture` has prepared. */
export type WebhookFixture = Awaited<ReturnType<typeof openWebhookFixture>>;

/** The service with empty tables, an URL for a webhook, and two keys, `key-a` and `key-b`. */
export async function openWebhookFixture() {
  await emptyTables();
  const service = new WebhookService();
  const url = await publicUrl();
  return {
    service,
    url,
    token: await insertKey({ id: "key-a", canPay: true }),
    otherToken: await insertKey({ id: "key-b", canPay: true }),
    /** Creates a webhook at the URL. */
    post: (fields: object = {}, options = {}) =>
      service.ask("POST", "", { url, Events: ["PAYMENT_ON_ERROR"], ...fields }, options),
  };
}

/**
 * A service that is overtaken: each time it is about to change a webhook, something else is done first.
 *
 * @param times - how often; from then on it is left alone
 */
export function overtaken(by: () => Promise<unknown>, times = 1): WebhookService {
  let left = times;
  const DB = wrapD1(env.DB, async ({ kind, sql }, run) => {
    const changes =
      kind === "batch" && sql.some((one) => one.startsWith('update "webhook_endpoint"'));
    if (changes && left-- > 0) await by();
    return run();
  });
  return new WebhookService({ DB });
}
