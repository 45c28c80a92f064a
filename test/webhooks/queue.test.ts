import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { emptyTables } from "../support/app.ts";
import { arrivals, freshPath, happen, WebhookService } from "../support/webhooks.ts";

const MINUTE = 60_000;

let service: WebhookService;

beforeEach(async () => {
  await emptyTables();
  vi.useFakeTimers({ toFake: ["Date"] });
  service = new WebhookService();
});
afterEach(() => {
  vi.useRealTimers();
});

describe("the queue handler", () => {
  it("asks for the batch again when the database fails, and for nothing it does not know", async () => {
    const broken = new WebhookService({
      DB: {
        prepare: () => {
          throw new Error("down");
        },
      } as unknown as D1Database,
    });
    for (const queue of ["events", "deliveries", "deliveries-dead", "unknown"]) {
      const { retryBatch } = await broken.consume(queue, [{ v: 1 }]);
      expect(retryBatch).toMatchObject({ retry: true });
    }
  });

  it("counts a failed attempt for what the queue gave up", async () => {
    const path = freshPath();
    const { id: webhookId } = await service.create(path);
    await happen(["X402_PAYMENT_SETTLED"]);
    await service.wake();
    const [message] = service.waiting.splice(0);
    await service.consume("deliveries-dead", [message?.body ?? {}]);
    expect(await service.deliveries(webhookId)).toMatchObject([
      { status: "Retrying", attempts: 1, error: "could not be sent" },
    ]);
    await service.consume("events-dead", [{ v: 1, requestId: "test" }]);
    await service.pass(MINUTE);
    expect(await arrivals(path)).toHaveLength(1);
  });
});
