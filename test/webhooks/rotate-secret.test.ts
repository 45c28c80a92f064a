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
} from "../support/webhooks/receivers.ts";
import { overtaken } from "./webhook-fixture.ts";

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

  it.each([[{}], [{ force: true, overlapSeconds: 0 }]])(
    "answers 409 to the second of two at once that send %j, and only one signs",
    async (fields) => {
      const path = freshPath();
      const { id: webhookId } = await service.create(path);
      const ask = (using: WebhookService) =>
        using.ask("POST", "/rotate-secret", { webhookId, ...fields });
      const first: { secret: string }[] = [];
      const late = overtaken(async () => first.push((await ask(service)).data));
      expect(await ask(late)).toMatchObject({
        status: 409,
        message: "webhookId: another request changed the webhook. Try again.",
      });
      expect(first).toHaveLength(1);
      await happen(["X402_PAYMENT_SETTLED"]);
      await service.settle();
      verified((await arrivals(path))[0], first[0]?.secret ?? "");
    },
  );

  it("answers 404 for a webhook that is deleted at the same time", async () => {
    const { id: webhookId } = await service.create(freshPath());
    const late = overtaken(() => service.ask("DELETE", "", { webhookId }));
    expect(await late.ask("POST", "/rotate-secret", { webhookId })).toMatchObject({ status: 404 });
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
