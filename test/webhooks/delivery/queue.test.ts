import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { emptyTables } from "../../support/app.ts";
import { arrivals, freshPath, happen, WebhookService } from "../../support/webhooks/receivers.ts";

const MINUTE = 60_000;
const WAKE = { v: 1, requestId: "test" };

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
  it("asks for the batch again when the database fails", async () => {
    const broken = new WebhookService({
      DB: {
        withSession: () => {
          throw new Error("down");
        },
      } as unknown as D1Database,
    });
    for (const body of [WAKE, { ...WAKE, endpointId: "endpoint" }]) {
      const { retryBatch } = await broken.consume("any", [body]);
      expect(retryBatch).toMatchObject({ retry: true });
    }
  });

  it("handles a message by its content, whatever the queue's name is", async () => {
    const path = freshPath();
    await service.create(path);
    await happen(["X402_PAYMENT_SETTLED"]);
    await service.consume("staging-agent-events", [WAKE]);
    const bodies = service.waiting.splice(0).map(({ body }) => body);
    await service.consume("staging-agent-deliveries", bodies);
    expect(await arrivals(path)).toHaveLength(1);
  });

  it("reports messages of any dead-letter queue, and leaves their work to the cron", async () => {
    const path = freshPath();
    await service.create(path, { Events: ["X402_PAYMENT_SETTLED"] });
    await happen(["X402_PAYMENT_SETTLED"]);
    const error = vi.spyOn(console, "error").mockImplementation(() => {});
    await service.consume("staging-agent-events-dead", [WAKE]);
    await service.minute();
    const bodies = service.waiting.splice(0).map(({ body }) => body);
    const { ackAll } = await service.consume("staging-agent-deliveries-dead", bodies);
    expect(ackAll).toBe(true);
    expect(error.mock.calls.flat().join()).toContain('"queue":"staging-agent-events-dead"');
    expect(error.mock.calls.flat().join()).toContain('"queue":"staging-agent-deliveries-dead"');
    error.mockRestore();
    await service.pass(MINUTE);
    expect(await arrivals(path)).toHaveLength(1);
  });
});
