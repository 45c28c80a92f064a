import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { emptyTables } from "../support/app.ts";
import { insertKey } from "../support/keys.ts";
import {
  arrivals,
  freshPath,
  happen,
  ISO_TIME,
  verified,
  WebhookService,
} from "../support/webhooks.ts";

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

describe("POST /webhooks/rotate-secret", () => {
  it("gives a new secret once per Idempotency-Key, and 409 while two overlap", async () => {
    const token = await insertKey({ canPay: true });
    const { id: webhookId, secret } = await service.create(freshPath(), {}, token);
    const rotate = (fields = {}, headers = {}) =>
      service.ask("POST", "/rotate-secret", { webhookId, ...fields }, { token, headers });
    const first = await rotate({}, { "idempotency-key": "once" });
    expect(first.data).toEqual({
      webhookId,
      secret: expect.stringMatching(/^whsec_/),
      previousSecretValidUntil: ISO_TIME,
    });
    expect(first.data.secret).not.toBe(secret);
    expect(await rotate({}, { "idempotency-key": "once" })).toEqual(first);
    expect(await rotate()).toMatchObject({ status: 409 });
    expect(await rotate({ force: true, overlapSeconds: 0 })).toMatchObject({
      status: 200,
      data: { previousSecretValidUntil: null },
    });
  });
});

describe("a secret that is rotated", () => {
  it("signs beside the new one while they overlap, and no longer", async () => {
    const path = freshPath();
    const { id: webhookId, secret: first } = await service.create(path);
    const { data } = await service.ask("POST", "/rotate-secret", { webhookId, overlapSeconds: 60 });
    expect(data).toEqual({
      webhookId,
      secret: expect.stringMatching(/^whsec_/),
      previousSecretValidUntil: new Date(Date.now() + MINUTE).toISOString(),
    });
    await happen(["X402_PAYMENT_SETTLED"]);
    await service.settle();
    vi.setSystemTime(Date.now() + MINUTE);
    await happen(["X402_PAYMENT_SETTLED"]);
    await service.settle();
    const [during, after] = await arrivals(path);
    for (const secret of [first, data.secret]) verified(during, secret);
    expect(during?.headers["webhook-signature"]?.split(" ")).toHaveLength(2);
    verified(after, data.secret);
    expect(() => verified(after, first)).toThrow("No matching signature");
  });
});
