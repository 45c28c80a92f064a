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
    ["an event sent one by one", 1, "X402_PAYMENT_SETTLED", 6],
    ["an event sent twenty at once", 20, "X402_PAYMENT_SETTLED", 6],
    // Found by its record as well.
    ["an event of a payment sent one by one", 1, "PAYMENT_ON_ERROR", 7],
  ] as const)(
    "of %s are at most three, and few for a delivery, purge included",
    async (_, atOnce, kind, most) => {
      const counting = countingWrites(env.DB);
      const [events, endpoints] = [20, 3];
      for (let i = 0; i < endpoints; i++) await service.create(freshPath());
      const counted = new WebhookService({ DB: counting.d1 });
      for (let sent = 0; sent < events; sent += atOnce) {
        await happen(Array(atOnce).fill(kind), {}, counting.d1);
        await counted.settle();
      }
      vi.setSystemTime(Date.now() + 31 * DAY);
      await counted.minute();
      const perEvent = counting.rowsWritten(/^(INSERT INTO|UPDATE|DELETE FROM) event/) / events;
      const perDelivery =
        counting.rowsWritten(/^(INSERT INTO|UPDATE|DELETE FROM) webhook_(delivery|endpoint)/) /
        (events * endpoints);
      console.info(`rows written: ${perEvent} per event, ${perDelivery} per delivery`);
      expect(perEvent).toBeGreaterThan(1);
      expect(perEvent).toBeLessThanOrEqual(3);
      expect(perDelivery).toBeGreaterThan(4);
      expect(perDelivery).toBeLessThanOrEqual(most);
    },
  );
});
