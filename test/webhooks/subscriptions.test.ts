import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { emptyTables } from "../support/app.ts";
import { OBSERVE_EVENTS_SQL } from "../support/observer.ts";
import { freshPath, happen, WebhookService } from "../support/webhooks/receivers.ts";

const [SETTLED, FAILED] = ["X402_PAYMENT_SETTLED", "X402_PAYMENT_FAILED"] as const;
const DAY = 24 * 60 * 60_000;

const service = new WebhookService();

beforeEach(async () => {
  await emptyTables();
  await env.DB.prepare("DELETE FROM webhook_subscription").run();
  vi.useFakeTimers({ toFake: ["Date"] });
});
afterEach(async () => {
  vi.useRealTimers();
  await env.DB.batch([
    env.DB.prepare("DELETE FROM webhook_subscription"),
    env.DB.prepare(OBSERVE_EVENTS_SQL),
  ]);
});

/** Kinds of the events that are stored, oldest first. */
async function storedKinds(): Promise<string[]> {
  const { results } = await env.DB.prepare("SELECT kind FROM event ORDER BY seq").all<{
    kind: string;
  }>();
  return results.map(({ kind }) => kind);
}

describe("an event", () => {
  it("is stored if an endpoint subscribes to its kind, and is active", async () => {
    await happen([SETTLED, FAILED]);
    expect(await storedKinds()).toEqual([]);
    const { id: webhookId } = await service.create(freshPath(), { Events: [SETTLED, SETTLED] });
    await happen([SETTLED, FAILED]);
    expect(await storedKinds()).toEqual([SETTLED]);
    await service.ask("PATCH", "", { webhookId, isActive: false });
    await happen([SETTLED]);
    expect(await storedKinds()).toEqual([SETTLED]);
    await service.ask("PATCH", "", { webhookId, isActive: true });
    await happen([SETTLED]);
    expect(await storedKinds()).toEqual([SETTLED, SETTLED]);
  });

  it("follows a change of the endpoint's kinds, and ends with the endpoint", async () => {
    const { id: webhookId } = await service.create(freshPath(), { Events: [SETTLED] });
    await service.ask("PATCH", "", { webhookId, Events: [FAILED] });
    await happen([SETTLED, FAILED]);
    expect(await storedKinds()).toEqual([FAILED]);
    await service.ask("DELETE", "", { webhookId });
    await happen([SETTLED, FAILED]);
    expect(await storedKinds()).toEqual([FAILED]);
  });
});

describe("a replay", () => {
  it("of events that the service keeps no more is refused", async () => {
    const { id: webhookId } = await service.create(freshPath(), { Events: [SETTLED] });
    const [id] = await happen([SETTLED]);
    await service.settle();
    await service.pass(8 * DAY);
    const since = new Date(Date.now() - 8 * DAY).toISOString();
    for (const which of [{ id }, { since }])
      expect(
        await service.ask("POST", "/deliveries/replay", { webhookId, ...which }),
      ).toMatchObject({
        status: 410,
        message: expect.stringMatching(/^(id|since): the service has deleted events before /),
      });
    const recent = { webhookId, since: new Date(Date.now() - 6 * DAY).toISOString() };
    expect(await service.ask("POST", "/deliveries/replay", recent)).toMatchObject({
      status: 200,
      data: { replayed: 0 },
    });
  });
});
