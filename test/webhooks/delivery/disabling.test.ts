import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { emptyTables } from "../../support/app.ts";
import { wrapD1 } from "../../support/d1.ts";
import {
  arrivals,
  exhaustRetries,
  freshPath,
  happen,
  idsOf,
  releaseHeld,
  verified,
  WebhookService,
} from "../../support/webhooks/receivers.ts";

let service: WebhookService;

beforeEach(async () => {
  await emptyTables();
  vi.useFakeTimers({ toFake: ["Date"] });
  service = new WebhookService();
});
afterEach(() => {
  vi.useRealTimers();
});

describe("an endpoint that its owner switches off while a delivery is under way", () => {
  it("is not logged as disabled by the service", async () => {
    const warn = vi.spyOn(console, "warn");
    const path = freshPath();
    const { id: webhookId } = await service.create(`${path}?answer=hold`);
    await happen(["X402_PAYMENT_SETTLED"]);
    await service.wake();
    const end = await service.drainAhead();
    await vi.waitFor(async () => expect(await arrivals(path)).toHaveLength(1));
    await service.ask("PATCH", "", { webhookId, isActive: false });
    await releaseHeld(path);
    await end();
    expect(await service.listed(webhookId)).toMatchObject({ isActive: false, disabledAt: null });
    expect(warn.mock.calls.flat().join()).not.toContain("webhook.disabled");
    warn.mockRestore();
  });
});

describe("an endpoint whose deliveries fail", () => {
  it("ten in a row is disabled, and comes back by PATCH with a replay of what it missed", async () => {
    const warn = vi.spyOn(console, "warn");
    const path = freshPath();
    const { id: webhookId, secret } = await service.create(`${path}?answer=500`);
    const sent = await happen(Array(14).fill("X402_PAYMENT_SETTLED"));
    await service.wake();
    await exhaustRetries();
    await service.drain();
    expect(warn.mock.calls.flat().join()).toContain("webhook.disabled");
    warn.mockRestore();
    const { failureCount, ...endpoint } = await service.listed(webhookId);
    const disabledReason = "10 deliveries in a row failed";
    expect(endpoint).toMatchObject({ isActive: false, disabledReason });
    // Six are sent at a time. The tenth failure may be counted before the last ones of its group arrive.
    const arrived = (await arrivals(path)).length;
    expect([10, 11, 12]).toContain(failureCount);
    expect([10, 11, 12]).toContain(arrived);
    const { id: pausedId } = await service.create(freshPath());
    await service.ask("PATCH", "", { webhookId: pausedId, isActive: false });
    const disabled = async () =>
      (await service.ask("GET", "", { filterDisabled: "true" })).data.Webhooks.map(
        ({ id }: { id: string }) => id,
      );
    expect(await disabled()).toEqual([webhookId]);

    const replay = () => service.ask("POST", "/deliveries/replay", { webhookId });
    expect(await replay()).toMatchObject({ status: 409 });
    const url = `${env.RECEIVER_URL}${path}`;
    expect(await service.ask("PATCH", "", { webhookId, url, isActive: true })).toMatchObject({
      data: { isActive: true },
    });
    expect(await replay()).toMatchObject({ status: 200, data: { replayed: 14 } });
    expect(await replay()).toMatchObject({ data: { replayed: 0 } });
    await service.drain();
    const replayed = (await arrivals(path)).slice(arrived);
    expect(idsOf(replayed).sort()).toEqual(sent.sort());
    for (const arrival of replayed) verified(arrival, secret);
    expect(await service.listed(webhookId)).toMatchObject({
      isActive: true,
      failureCount: 0,
      disabledAt: null,
      disabledReason: null,
    });
    expect(await disabled()).toEqual([]);
  });

  it("nine times and then arrive is not", async () => {
    const path = freshPath();
    const { id: webhookId } = await service.create(`${path}?answer=500`);
    await happen(Array(9).fill("X402_PAYMENT_SETTLED"));
    await service.wake();
    await exhaustRetries();
    await service.drain();
    expect(await service.listed(webhookId)).toMatchObject({ failureCount: 9, isActive: true });
    await service.ask("PATCH", "", { webhookId, url: `${env.RECEIVER_URL}${path}` });
    await happen(["X402_PAYMENT_SETTLED"]);
    await service.settle();
    expect(await service.listed(webhookId)).toMatchObject({ failureCount: 0, isActive: true });
  });

  it("is counted once when an outcome is written twice or late", async () => {
    const { id: webhookId } = await service.create(freshPath("?answer=500"));
    await happen(["X402_PAYMENT_SETTLED"]);
    await service.wake();
    await exhaustRetries();
    const writesHealth = (one: string) => one.startsWith("UPDATE webhook_endpoint SET");
    let batches = 0;
    const losing = new WebhookService({
      DB: wrapD1(env.DB, async ({ kind, sql }, run) => {
        const result = await run();
        // The answer of the batch that writes the outcome is lost: it is sent again.
        if (kind === "batch" && sql.some(writesHealth) && ++batches === 1)
          throw new Error("D1_ERROR: Network connection lost.");
        return result;
      }),
    });
    await losing.consume("deliveries", [service.waiting[0]?.body ?? {}]);
    expect(batches).toBe(2);
    expect(await service.listed(webhookId)).toMatchObject({ failureCount: 1 });
  });
});
