import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { call, emptyTables } from "../support/app.ts";
import { countingWrites, wrapD1 } from "../support/d1.ts";
import { makeRecord, Writer } from "../support/records.ts";
import { arrivals, freshPath, happen, verified, WebhookService } from "../support/webhooks.ts";

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

let service: WebhookService;

beforeEach(async () => {
  await emptyTables();
  vi.useFakeTimers({ toFake: ["Date"] });
  vi.spyOn(console, "warn").mockImplementation(() => {});
  vi.spyOn(console, "error").mockImplementation(() => {});
  service = new WebhookService();
});
afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
});

/** Lets time pass, and then the cron and the queue do what is due. */
async function pass(ms: number): Promise<void> {
  vi.setSystemTime(Date.now() + ms);
  await service.minute();
  await service.drain();
}

const ids = (found: { headers: Record<string, string> }[]) =>
  found.map(({ headers }) => headers["webhook-id"]);

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

  it("of a payment carries the record as GET shows it", async () => {
    const path = freshPath();
    const { secret } = await service.create(path);
    const writer = await Writer.create(env.DB);
    await writer.change([makeRecord("payment")]);
    await service.settle();
    const body = verified((await arrivals(path))[0], secret);
    const answer = await call("/api/v1/payment?network=Preprod&includeHistory=true");
    const { data } = (await answer.json()) as { data: { Payments: object[] } };
    expect(body).toMatchObject({ type: "PAYMENT_ON_CHAIN_STATUS_CHANGED", sequence: 1 });
    expect(body.data).toEqual({
      ...data.Payments[0],
      CurrentTransaction: expect.any(Object),
      TransactionHistory: expect.any(Array),
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
    await pass(MINUTE);
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
    await pass(30 * SECOND);
    expect(await arrivals(path)).toHaveLength(1);
    await pass(31 * SECOND);
    expect(await arrivals(path)).toHaveLength(2);
    expect(await service.deliveries(webhookId)).toMatchObject([
      { status: "Success", attempts: 2 },
      { status: "Success", attempts: 1 },
    ]);
  });

  it("is sent once when its messages are doubled and wake-ups overlap", async () => {
    const path = freshPath();
    await service.create(path);
    await happen(Array(12).fill("X402_PAYMENT_SETTLED"));
    await Promise.all([service.wake(), service.wake(), service.wake()]);
    const messages = service.waiting.splice(0).map(({ body }) => body);
    expect(messages).toHaveLength(12);
    await Promise.all([
      service.consume("deliveries", [...messages, ...messages]),
      service.consume("deliveries", messages),
    ]);
    expect(new Set(ids(await arrivals(path))).size).toBe(12);
    expect(await arrivals(path)).toHaveLength(12);
  });
});

describe("a receiver that", () => {
  it.each([
    ["answers 500", "?answer=500", 500, "answered 500"],
    ["answers 404", "?answer=404", 404, "answered 404"],
    ["redirects", "?answer=redirect", 302, "answered 302"],
    ["cuts the connection", "?answer=reset", null, "the host could not be reached"],
    ["does not answer", "?answer=hang", null, "no answer within 400 ms"],
  ])("%s is tried again", async (_, query, responseStatus, error) => {
    const path = freshPath();
    const { id: webhookId } = await service.create(`${path}${query}`);
    await happen(["X402_PAYMENT_SETTLED"]);
    await service.settle();
    const [first] = await service.deliveries(webhookId);
    expect(first).toMatchObject({ status: "Retrying", attempts: 1, responseStatus, error });
    const wait = Date.parse(first.nextAttemptAt) - Date.now();
    expect(wait).toBeGreaterThan(3_000);
    expect(wait).toBeLessThanOrEqual(5_000);
    expect(await service.listed(webhookId)).toMatchObject({ failureCount: 0, isActive: true });
    vi.setSystemTime(Date.now() + 5_000);
    await service.drain();
    expect(await arrivals(path)).toHaveLength(2);
    expect(await arrivals("/redirected")).toEqual([]);
  });

  it("always fails gets ten attempts in three days, the same id and body each, and one failure", async () => {
    const path = freshPath();
    const { id: webhookId, secret } = await service.create(`${path}?answer=500`);
    const [id] = await happen(["X402_PAYMENT_SETTLED"]);
    const begun = Date.now();
    await service.settle();
    const times = [0];
    for (;;) {
      const [delivery] = await service.deliveries(webhookId);
      if (delivery.nextAttemptAt === null) break;
      await pass(Date.parse(delivery.nextAttemptAt) - Date.now() + 31 * SECOND);
      times.push(Date.now() - begun);
    }
    const waits = [5 * SECOND, 5 * MINUTE, 30 * MINUTE, 2 * HOUR, 5 * HOUR, 10 * HOUR, 14 * HOUR];
    for (const [i, wait] of [...waits, 20 * HOUR, 24 * HOUR].entries()) {
      const waited = (times[i + 1] ?? 0) - (times[i] ?? 0);
      expect(waited).toBeGreaterThanOrEqual(wait * 0.8);
      expect(waited).toBeLessThanOrEqual(wait + MINUTE);
    }
    const found = await arrivals(path);
    expect(ids(found)).toEqual(Array(10).fill(id));
    expect(new Set(found.map(({ body }) => body)).size).toBe(1);
    expect(new Set(found.map(({ headers }) => headers["webhook-timestamp"])).size).toBe(10);
    for (const arrival of found) verified(arrival, secret);
    expect(await service.deliveries(webhookId)).toMatchObject([
      { status: "Failed", attempts: 10, nextAttemptAt: null },
    ]);
    expect(await service.listed(webhookId)).toMatchObject({ failureCount: 1, isActive: true });
  });

  it.each([
    ["429 asks for it in seconds", "?answer=429&retryAfter=600", 600 * SECOND],
    ["503 asks for it", "?answer=503&retryAfter=90", 90 * SECOND],
    ["429 asks for more than a day", "?answer=429&retryAfter=999999", DAY],
    ["500 asks for it, which means nothing", "?answer=500&retryAfter=600", 5 * SECOND],
    ["429 asks for nonsense", "?answer=429&retryAfter=soon", 5 * SECOND],
  ])("with %s is left alone for so long", async (_, query, wait) => {
    const { id: webhookId } = await service.create(freshPath(query));
    await happen(["X402_PAYMENT_SETTLED"]);
    await service.settle();
    const [delivery] = await service.deliveries(webhookId);
    const waited = Date.parse(delivery.nextAttemptAt) - Date.now();
    expect(waited).toBeGreaterThanOrEqual(wait * 0.8);
    expect(waited).toBeLessThanOrEqual(wait);
  });

  it("with 503 names a date is left alone until then", async () => {
    const until = new Date(Math.ceil(Date.now() / 1000) * 1000 + 2 * HOUR);
    const query = `?answer=503&retryAfter=${encodeURIComponent(until.toUTCString())}`;
    const { id: webhookId } = await service.create(freshPath(query));
    await happen(["X402_PAYMENT_SETTLED"]);
    await service.settle();
    const [delivery] = await service.deliveries(webhookId);
    expect(delivery.nextAttemptAt).toBe(until.toISOString());
  });

  it("answers 410 is disabled at once, and what is open is cancelled", async () => {
    const path = freshPath();
    const { id: webhookId } = await service.create(`${path}?answer=410`);
    await happen(Array(11).fill("X402_PAYMENT_SETTLED"));
    await service.settle();
    expect(await service.listed(webhookId)).toMatchObject({
      isActive: false,
      disabledAt: new Date(Date.now()).toISOString(),
      disabledReason: "the receiver answered 410",
    });
    const statuses = (await service.deliveries(webhookId)).map(
      (one: { status: string }) => one.status,
    );
    expect(statuses.sort()).toEqual(["Cancelled", ...Array(10).fill("Failed")]);
    await happen(["X402_PAYMENT_SETTLED"]);
    await service.settle();
    await pass(DAY);
    expect(await arrivals(path)).toHaveLength(10);
  });
});

/** Nine attempts have failed already, so that the next one decides. */
async function nearTheEnd(): Promise<void> {
  await env.DB.prepare(
    "UPDATE webhook_delivery SET failed_attempts = 9 WHERE due_at IS NOT NULL",
  ).run();
}

describe("an endpoint whose deliveries fail", () => {
  it("ten in a row is disabled, and comes back by PATCH with a replay of what it missed", async () => {
    const path = freshPath();
    const { id: webhookId, secret } = await service.create(`${path}?answer=500`);
    const sent = await happen(Array(12).fill("X402_PAYMENT_SETTLED"));
    await service.wake();
    await nearTheEnd();
    await service.drain();
    expect(await service.listed(webhookId)).toMatchObject({
      isActive: false,
      failureCount: 10,
      disabledReason: "10 deliveries in a row failed",
    });
    expect(await arrivals(path)).toHaveLength(10);

    const replay = () => service.ask("POST", "/deliveries/replay", { webhookId });
    expect(await replay()).toMatchObject({ status: 409 });
    const url = `${env.RECEIVER_URL}${path}`;
    expect(await service.ask("PATCH", "", { webhookId, url, isActive: true })).toMatchObject({
      data: { isActive: true },
    });
    expect(await replay()).toMatchObject({ status: 200, data: { replayed: 12 } });
    expect(await replay()).toMatchObject({ data: { replayed: 0 } });
    await service.drain();
    const replayed = (await arrivals(path)).slice(10);
    expect(ids(replayed).sort()).toEqual(sent.sort());
    for (const arrival of replayed) verified(arrival, secret);
    expect(await service.listed(webhookId)).toMatchObject({
      isActive: true,
      failureCount: 0,
      disabledAt: null,
      disabledReason: null,
    });
  });

  it("nine times and then arrive is not", async () => {
    const path = freshPath();
    const { id: webhookId } = await service.create(`${path}?answer=500`);
    await happen(Array(9).fill("X402_PAYMENT_SETTLED"));
    await service.wake();
    await nearTheEnd();
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
    await nearTheEnd();
    let batches = 0;
    const losing = new WebhookService({
      DB: wrapD1(env.DB, async ({ kind, sql }, run) => {
        const result = await run();
        // The answer of the batch that writes the outcome is lost: it is sent again.
        if (kind === "batch" && sql[0]?.includes("UPDATE webhook_endpoint") && ++batches === 1)
          throw new Error("D1_ERROR: Network connection lost.");
        return result;
      }),
    });
    await losing.consume("deliveries", [service.waiting[0]?.body ?? {}]);
    expect(batches).toBe(2);
    expect(await service.listed(webhookId)).toMatchObject({ failureCount: 1 });
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

describe("what is too old", () => {
  it("is purged after thirty days, and the newest event never, so that none is dispatched twice", async () => {
    const path = freshPath();
    const { id: webhookId } = await service.create(path);
    await happen(["X402_PAYMENT_SETTLED", "X402_PAYMENT_FAILED"]);
    await service.settle();
    await pass(30 * DAY - HOUR);
    expect(await service.deliveries(webhookId)).toHaveLength(2);
    await pass(3 * HOUR);
    expect(await service.deliveries(webhookId)).toEqual([]);
    const seqs = await env.DB.prepare("SELECT seq FROM event").all();
    expect(seqs.results).toEqual([{ seq: 2 }]);
    await happen(["X402_PAYMENT_SETTLED"]);
    await service.settle();
    expect(await arrivals(path)).toHaveLength(3);
  });

  it("goes with a deleted endpoint at once", async () => {
    const { id: webhookId } = await service.create(freshPath());
    await happen(["X402_PAYMENT_SETTLED"]);
    await service.settle();
    await service.ask("DELETE", "", { webhookId });
    await pass(MINUTE);
    for (const table of ["webhook_delivery", "webhook_endpoint"])
      expect((await env.DB.prepare(`SELECT * FROM ${table}`).all()).results).toEqual([]);
  });
});

describe("the queue handler", () => {
  it("asks for the batch again when the database fails, and for nothing it does not know", async () => {
    const broken = new WebhookService({
      DB: {
        prepare: () => {
          throw new Error("down");
        },
      } as unknown as D1Database,
    });
    for (const queue of ["events", "deliveries", "deliveries-dead", "unknown"]) {
      const { retryBatch } = await broken.consume(queue, [{ v: 1 }]);
      expect(retryBatch).toMatchObject({ retry: true });
    }
  });

  it("counts a failed attempt for what the queue gave up", async () => {
    const path = freshPath();
    const { id: webhookId } = await service.create(path);
    await happen(["X402_PAYMENT_SETTLED"]);
    await service.wake();
    const [message] = service.waiting.splice(0);
    await service.consume("deliveries-dead", [message?.body ?? {}]);
    expect(await service.deliveries(webhookId)).toMatchObject([
      { status: "Retrying", attempts: 1, error: "could not be sent" },
    ]);
    await service.consume("events-dead", [{ v: 1, requestId: "test" }]);
    await pass(MINUTE);
    expect(await arrivals(path)).toHaveLength(1);
  });
});

describe("POST /webhooks/test", () => {
  it("says how the receiver answered, and leaves no trace", async () => {
    const path = freshPath();
    const { id: webhookId, secret } = await service.create(path, { name: "mine" });
    expect(await service.ask("POST", "/test", { webhookId })).toMatchObject({
      data: { webhookId, success: true, responseCode: 200, errorMessage: null },
    });
    const [arrival] = await arrivals(path);
    expect(verified(arrival, secret)).toMatchObject({
      type: "WEBHOOK_TEST",
      data: { webhookName: "mine", triggeredByApiKeyId: "env-admin" },
    });
    expect(await service.deliveries(webhookId)).toEqual([]);
    expect(await service.listed(webhookId)).toMatchObject({ lastSuccessAt: null });
    await service.ask("PATCH", "", { webhookId, url: `${env.RECEIVER_URL}${path}?answer=reset` });
    expect(await service.ask("POST", "/test", { webhookId })).toMatchObject({
      data: { success: false, responseCode: null, errorMessage: "the host could not be reached" },
    });
  });
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
