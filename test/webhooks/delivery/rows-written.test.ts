import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { emptyTables } from "../../support/app.ts";
import { countingWrites } from "../../support/d1.ts";
import { freshPath, happen, WebhookService } from "../../support/webhooks/receivers.ts";

const DAY = 24 * 60 * 60 * 1000;

let service: WebhookService;

beforeEach(async () => {
  await emptyTables();
  vi.useFakeTimers({ toFake: ["Date"] });
  service = new WebhookService();
});
afterEach(() => {
  vi.useRealTimers();
});

describe("rows written, which are the bill", () => {
  it.each([
    ["one by one", 1],
    ["twenty at once", 20],
  ])(
    "are at most six for a delivery and three for an event sent %s, purge included",
    async (_, atOnce) => {
      const counting = countingWrites(env.DB);
      const [events, endpoints] = [20, 3];
      for (let i = 0; i < endpoints; i++) await service.create(freshPath());
      const counted = new WebhookService({ DB: counting.d1 });
      for (let sent = 0; sent < events; sent += atOnce) {
        await happen(Array(atOnce).fill("X402_PAYMENT_SETTLED"), {}, counting.d1);
        await counted.settle();
      }
      vi.setSystemTime(Date.now() + 31 * DAY);
      await counted.minute();
      const perEvent = counting.rowsWritten(/(INTO|UPDATE|FROM) event/) / events;
      const perDelivery =
        counting.rowsWritten(/(INTO|UPDATE|FROM) webhook_/) / (events * endpoints);
      console.info(`rows written: ${perEvent} per event, ${perDelivery} per delivery`);
      expect(perEvent).toBeGreaterThan(1);
      expect(perEvent).toBeLessThanOrEqual(3);
      expect(perDelivery).toBeGreaterThan(4);
      expect(perDelivery).toBeLessThanOrEqual(6);
    },
  );
});
