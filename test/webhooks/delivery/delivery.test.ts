import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { DeliveryMessage, Env } from "../../../src/env.ts";
import { sweepDeliveries } from "../../../src/webhooks/delivery/sweep-deliveries.ts";
import { call, emptyTables } from "../../support/app.ts";
import { wrapD1 } from "../../support/d1.ts";
import { makeRecord, Writer } from "../../support/sources/records.ts";
import {
  arrivals,
  freshPath,
  happen,
  idsOf,
  verified,
  WebhookService,
} from "../../support/webhooks/receivers.ts";

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const [SETTLED, FAILED] = ["X402_PAYMENT_SETTLED", "X402_PAYMENT_FAILED"] as const;

let service: WebhookService;

beforeEach(async () => {
  await emptyTables();
  vi.useFakeTimers({ toFake: ["Date"] });
  service = new WebhookService();
});
afterEach(() => {
  vi.useRealTimers();
});

async function deliveriesOf(webhookId: string): Promise<number> {
  const row = await env.DB.prepare(
    "SELECT count(*) AS n FROM webhook_delivery WHERE endpoint_id = ?",
  )
    .bind(webhookId)
    .first<{ n: number }>();
  return row?.n ?? 0;
}

describe("an event", () => {
  it("arrives once, signed, with the body of the interface", async () => {
    const path = freshPath();
    const { id: webhookId, secret } = await service.create(path);
    const [id] = await happen(["X402_PAYMENT_SETTLED"], { data: { amount: "5", note: "é €" } });
    await service.settle();
    const [arrival, ...more] = await arrivals(path);
    expect(more).toEqual([]);
    expect(verified(arrival, secret)).toEqual({
      id,
      type: "X402_PAYMENT_SETTLED",
      event_type: "X402_PAYMENT_SETTLED",
      timestamp: new Date(Date.now()).toISOString(),
      webhook_id: id,
      sequence: 1,
      data: { amount: "5", note: "é €" },
    });
    expect(arrival?.headers).toMatchObject({
      "webhook-id": id,
      "content-type": "application/json; charset=utf-8",
    });
    expect(arrival?.headers).not.toHaveProperty("authorization");
    expect(await service.deliveries(webhookId)).toMatchObject([
      { id, webhookId, status: "Success", attempts: 1, responseStatus: 200, error: null },
    ]);
    expect(await service.listed(webhookId)).toMatchObject({
      failureCount: 0,
      lastSuccessAt: new Date(Date.now()).toISOString(),
    });
  });

  it("of a payment carries the record as GET shows it, without histories", async () => {
    const path = freshPath();
    const { secret } = await service.create(path);
    const writer = await Writer.create(env.DB);
    await writer.change([makeRecord("payment")]);
    await service.settle();
    const body = verified((await arrivals(path))[0], secret);
    const answer = await call("/api/v1/payment?network=Preprod");
    const { data } = (await answer.json()) as { data: { Payments: object[] } };
    expect(body).toMatchObject({ type: "PAYMENT_ON_CHAIN_STATUS_CHANGED", sequence: 1 });
    expect(body.data).toEqual({
      ...data.Payments[0],
      CurrentTransaction: expect.any(Object),
      TransactionHistory: [],
      previous: null,
    });
  });

  it("is sent with the bearer token of its endpoint", async () => {
    const path = freshPath();
    await service.create(path, { authToken: "token-of-the-receiver" });
    await happen(["X402_PAYMENT_FAILED"]);
    await service.settle();
    expect((await arrivals(path))[0]?.headers.authorization).toBe("Bearer token-of-the-receiver");
  });

  it("is not sent to an endpoint that did not subscribe to it, nor to one that is deleted", async () => {
    const [others, gone] = [freshPath(), freshPath()];
    await service.create(others, { Events: ["X402_PAYMENT_FAILED"] });
    const { id: webhookId } = await service.create(gone);
    await happen(["X402_PAYMENT_SETTLED"]);
    await service.wake();
    await service.ask("DELETE", "", { webhookId });
    await service.drain();
    expect([...(await arrivals(others)), ...(await arrivals(gone))]).toEqual([]);
  });

  it("whose wake-up, whose message or whose consumer was lost is sent by the cron", async () => {
    const path = freshPath();
    const { id: webhookId } = await service.create(path);
    await happen(["X402_PAYMENT_SETTLED"]);
    await service.minute();
    expect(service.waiting).toHaveLength(1);

    service.waiting.length = 0;
    await service.pass(MINUTE);
    expect(await arrivals(path)).toHaveLength(1);

    // A consumer that dies after the send, before it wrote the outcome.
    await happen(["X402_PAYMENT_SETTLED"]);
    await service.wake();
    const [message] = service.waiting.splice(0);
    await env.DB.prepare(
      "UPDATE webhook_delivery SET attempt = attempt + 1, claimed_until = ? WHERE status = 'Pending'",
    )
      .bind(Date.now() + MINUTE)
      .run();
    await service.consume("deliveries", [message?.body ?? {}]);
    await service.pass(30 * SECOND);
    expect(await arrivals(path)).toHaveLength(1);
    await service.pass(31 * SECOND);
    expect(await arrivals(path)).toHaveLength(2);
    expect(await service.deliveries(webhookId)).toMatchObject([
      { status: "Success", attempts: 2 },
      { status: "Success", attempts: 1 },
    ]);
  });

  it("waits its turn when there are too many for one run, and deliveries that are due do not", async () => {
    const { id: webhookId } = await service.create(freshPath(), { Events: [SETTLED] });
    const { id: retriedId } = await service.create(freshPath("?answer=500"), { Events: [FAILED] });
    await happen([FAILED]);
    await service.settle();
    vi.setSystemTime(Date.now() + MINUTE);
    await happen(Array(2_000).fill(SETTLED));

    const asked: string[] = [];
    const sendBatch = async (messages: { body: DeliveryMessage }[]) => {
      asked.push(...messages.map(({ body }) => body.endpointId));
      vi.setSystemTime(Date.now() + SECOND);
    };
    const slow = new WebhookService({ DELIVERIES: { sendBatch } as unknown as Env["DELIVERIES"] });
    await slow.minute();
    expect(asked).toContain(retriedId);
    expect(slow.wakes).toBe(1);
    expect(await deliveriesOf(webhookId)).toBeLessThan(2_000);
    await slow.wake();
    await slow.wake();
    expect(await deliveriesOf(webhookId)).toBe(2_000);
  });

  it("that waits in the queue is not queued again before five minutes have passed", async () => {
    const { id } = await service.create(freshPath());
    await happen(Array(50).fill(SETTLED));
    await service.wake();
    const waiting = service.waiting.length;
    expect(waiting).toBeLessThan(50);
    // The consumer takes nothing from the queue.
    for (let minutes = 0; minutes < 5; minutes++) {
      vi.setSystemTime(Date.now() + MINUTE);
      await Promise.all([service.minute(), service.minute()]);
      expect(service.waiting).toHaveLength(waiting + 2);
    }
    vi.setSystemTime(Date.now() + MINUTE);
    await service.minute();
    expect(service.waiting).toHaveLength(waiting + 4);
    await service.drain();
    expect(await service.deliveries(id, { status: "Success" })).toHaveLength(50);
  });

  it("that cannot be fanned out keeps no delivery from its turn, and is reported", async () => {
    const path = freshPath();
    await service.create(path);
    await happen(["X402_PAYMENT_SETTLED"]);
    await service.wake();
    service.waiting.length = 0;
    vi.setSystemTime(Date.now() + MINUTE);
    const DB = wrapD1(env.DB, (call, run) => {
      if (call.sql.some((one) => one.includes("event_cursor"))) throw new Error("no such table");
      return run();
    });
    const error = vi.spyOn(console, "error").mockImplementation(() => {});
    const broken = new WebhookService({ DB });
    await sweepDeliveries(broken.env, "test");
    expect(error).toHaveBeenCalledWith(expect.stringContaining("events.dispatch_failed"));
    error.mockRestore();
    expect(broken.waiting).toHaveLength(1);
  });

  it("is sent once when its messages are doubled and wake-ups overlap", async () => {
    const path = freshPath();
    await service.create(path);
    await happen(Array(12).fill("X402_PAYMENT_SETTLED"));
    await Promise.all([service.wake(), service.wake(), service.wake()]);
    const messages = service.waiting.splice(0).map(({ body }) => body);
    expect(messages).toHaveLength(2);
    await Promise.all([
      service.consume("deliveries", [...messages, ...messages]),
      service.consume("deliveries", messages),
    ]);
    await service.drain();
    expect(new Set(idsOf(await arrivals(path))).size).toBe(12);
    expect(await arrivals(path)).toHaveLength(12);
  });
});
