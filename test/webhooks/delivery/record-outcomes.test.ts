import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { type Claim, claimDeliveries } from "../../../src/webhooks/delivery/claim-deliveries.ts";
import { recordOutcomes } from "../../../src/webhooks/delivery/record-outcomes.ts";
import type { DeliveryAttempt } from "../../../src/webhooks/delivery/send-event.ts";
import { emptyTables } from "../../support/app.ts";
import { freshPath, happen, WebhookService } from "../../support/webhooks/receivers.ts";

/** Longer than a claim lasts. */
const CLAIM_MS = 61_000;
const DELIVERED: DeliveryAttempt = {
  ...{ result: "delivered", status: 204, error: null },
  ...{ timedOut: false, retryAfterMs: null, durationMs: 1 },
};
const FAILED: DeliveryAttempt = { ...DELIVERED, result: "failed", status: 500, error: "HTTP 500" };

beforeEach(async () => {
  await emptyTables();
  vi.useFakeTimers({ toFake: ["Date"] });
});
afterEach(() => {
  vi.useRealTimers();
});

it("an attempt whose claim has expired changes nothing of the newer attempt", async () => {
  const service = new WebhookService();
  const { id } = await service.create(freshPath());
  await happen(["X402_PAYMENT_SETTLED"]);
  await service.wake();
  const claimOne = () => claimDeliveries(service.env, [id], Date.now());
  const record = (claims: Claim[], attempt: DeliveryAttempt) =>
    recordOutcomes(
      service.env,
      claims.map((claim) => ({ claim, attempt })),
      Date.now(),
    );
  const late = await claimOne();
  vi.setSystemTime(Date.now() + CLAIM_MS);
  const newer = await claimOne();
  expect([late, newer]).toMatchObject([[{ attempt: 1 }], [{ attempt: 2 }]]);
  await record(late, FAILED);
  expect(await service.deliveries(id)).toMatchObject([{ status: "Pending" }]);
  await record(newer, DELIVERED);
  await record(late, FAILED);
  expect(await service.deliveries(id)).toMatchObject([{ status: "Success" }]);
});
