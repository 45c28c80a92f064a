import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { EventKind } from "../../../src/events/event-kinds.ts";
import { deliverEvents } from "../../../src/webhooks/delivery/deliver-events.ts";
import { emptyTables } from "../../support/app.ts";
import { wrapD1 } from "../../support/d1.ts";
import {
  arrivals,
  freshPath,
  happen,
  idsOf,
  releaseHeld,
  WebhookService,
} from "../../support/webhooks/receivers.ts";

/** Two endpoints with one of these each share an invocation's connections. */
const [HELD, PROMPT] = ["X402_PAYMENT_FAILED", "X402_PAYMENT_SETTLED"] as const;

const times = (count: number, kind: EventKind): EventKind[] => Array(count).fill(kind);

beforeEach(async () => {
  await emptyTables();
  vi.useFakeTimers({ toFake: ["Date"] });
});
afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
});

describe("a message to the queue", () => {
  test("has all that is due at its endpoint sent, with nothing more to the queue", async () => {
    const service = new WebhookService();
    const path = freshPath();
    const { id: endpointId } = await service.create(path);
    const ids = await happen(times(30, PROMPT));
    await service.wake();
    service.waiting.length = 0;
    // No wave ends early, however slow the machine is.
    vi.useFakeTimers({ toFake: ["Date", "setTimeout"] });
    await service.consume("deliveries", [{ v: 1, requestId: "test", endpointId }]);
    vi.useRealTimers();
    expect(idsOf(await arrivals(path)).sort()).toEqual(ids.sort());
    expect(service.waiting).toEqual([]);
  });

  test("is answered by each delivery once when the batch that records some and claims others fails", async () => {
    let failed = 0;
    const service = new WebhookService({
      DB: wrapD1(env.DB, async ({ kind, sql }, run) => {
        const records = sql.some((one) => one.includes("UPDATE webhook_delivery AS d"));
        const claims = sql.some((one) => one.includes("RETURNING endpoint_id"));
        if (kind === "batch" && records && claims && failed++ === 0)
          throw new Error("D1_ERROR: D1 DB is overloaded. Requests queued for too long.");
        return run();
      }),
    });
    const warn = vi.spyOn(console, "warn").mockImplementation(() => {});
    const path = freshPath();
    const { id } = await service.create(path);
    const ids = await happen(times(20, PROMPT));
    await service.settle();
    expect(failed).toBeGreaterThan(1);
    expect(warn.mock.calls.flat().join()).toContain("deliveries.wave_failed");
    expect(idsOf(await arrivals(path)).sort()).toEqual(ids.sort());
    expect(await service.deliveries(id, { status: "Success" })).toHaveLength(20);
  });
});

describe("a receiver that holds what it gets", () => {
  test("leaves what was claimed beside it and not sent as it was, for the next consumer", async () => {
    const service = new WebhookService({ WEBHOOK_TIMEOUT_MS: "25000" });
    const [held, prompt] = [freshPath(), freshPath()];
    const { id: heldId } = await service.create(`${held}?answer=hold`, { Events: [HELD] });
    const { id: promptId } = await service.create(prompt, { Events: [PROMPT] });
    await happen(times(6, HELD));
    const ids = await happen(times(6, PROMPT));
    await service.wake();
    service.waiting.length = 0;
    const messages = [heldId, promptId].map(
      (endpointId) => ({ v: 1, requestId: "test", endpointId }) as const,
    );
    const background: Promise<void>[] = [];
    await deliverEvents(service.env, messages, (work) => background.push(work));

    // The endpoints take turns: three arrive before four held requests have every connection.
    const sent = idsOf(await arrivals(prompt));
    expect(sent).toHaveLength(3);
    const deliveries: Record<string, unknown>[] = await service.deliveries(promptId);
    expect(deliveries.filter(({ id }) => !sent.includes(String(id)))).toMatchObject(
      Array(3).fill({ status: "Pending", attempts: 0, lastAttemptAt: null, AttemptLog: [] }),
    );
    const end = await service.drainAhead();
    expect(idsOf(await arrivals(prompt)).sort()).toEqual(ids.sort());

    await releaseHeld(held);
    await Promise.all([...background, end()]);
    await service.drain();
    for (const delivery of await service.deliveries(promptId))
      expect(delivery).toMatchObject({ status: "Success", attempts: 1 });
    expect(await arrivals(held)).toHaveLength(6);
  });
});
