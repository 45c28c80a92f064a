import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { emptyTables } from "../../support/app.ts";
import { arrivals, freshPath, happen, WebhookService } from "../../support/webhooks/receivers.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

let service: WebhookService;

beforeEach(async () => {
  await emptyTables();
  vi.useFakeTimers({ toFake: ["Date"] });
  service = new WebhookService();
});
afterEach(() => {
  vi.useRealTimers();
});

describe("what is too old", () => {
  it("is purged after seven days, and the newest event never, so that none is dispatched twice", async () => {
    const path = freshPath();
    const { id: webhookId } = await service.create(path);
    await happen(["X402_PAYMENT_SETTLED", "X402_PAYMENT_FAILED"]);
    await service.settle();
    await service.pass(7 * DAY - HOUR);
    expect(await service.deliveries(webhookId)).toHaveLength(2);
    await service.pass(3 * HOUR);
    expect(await service.deliveries(webhookId)).toEqual([]);
    const seqs = await env.DB.prepare("SELECT seq FROM event").all();
    expect(seqs.results).toEqual([{ seq: 2 }]);
    await happen(["X402_PAYMENT_SETTLED"]);
    await service.settle();
    expect(await arrivals(path)).toHaveLength(3);
  });

  it("goes with a deleted endpoint at once", async () => {
    const { id: webhookId } = await service.create(freshPath());
    await happen(["X402_PAYMENT_SETTLED"]);
    await service.settle();
    await service.ask("DELETE", "", { webhookId });
    await service.pass(MINUTE);
    for (const table of ["webhook_delivery", "webhook_endpoint"])
      expect((await env.DB.prepare(`SELECT * FROM ${table}`).all()).results).toEqual([]);
  });
});
