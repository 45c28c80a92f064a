import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { emptyTables } from "../support/app.ts";
import { arrivals, freshPath, verified, WebhookService } from "../support/webhooks/receivers.ts";

let service: WebhookService;

beforeEach(async () => {
  await emptyTables();
  vi.useFakeTimers({ toFake: ["Date"] });
  service = new WebhookService();
});
afterEach(() => {
  vi.useRealTimers();
});

describe("POST /webhooks/test", () => {
  it("says how the receiver answered, and leaves no trace", async () => {
    const path = freshPath();
    const { id: webhookId, secret } = await service.create(path, { name: "mine" });
    expect(await service.ask("POST", "/test", { webhookId })).toMatchObject({
      data: { webhookId, success: true, responseCode: 200, errorMessage: null },
    });
    const [arrival] = await arrivals(path);
    expect(verified(arrival, secret)).toMatchObject({
      type: "WEBHOOK_TEST",
      data: { webhookName: "mine", triggeredByApiKeyId: "env-admin" },
    });
    expect(await service.deliveries(webhookId)).toEqual([]);
    expect(await service.listed(webhookId)).toMatchObject({ lastSuccessAt: null });
    await service.ask("PATCH", "", { webhookId, url: `${env.RECEIVER_URL}${path}?answer=reset` });
    expect(await service.ask("POST", "/test", { webhookId })).toMatchObject({
      data: { success: false, responseCode: null, errorMessage: "the host could not be reached" },
    });
  });
});
