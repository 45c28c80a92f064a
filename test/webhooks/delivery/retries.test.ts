import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { emptyTables } from "../../support/app.ts";
import { shortenTimeouts } from "../../support/crash-at.ts";
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
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

let service: WebhookService;

beforeEach(async () => {
  await emptyTables();
  vi.useFakeTimers({ toFake: ["Date"] });
  service = new WebhookService();
});
afterEach(() => {
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
  vi.useRealTimers();
});

describe("a receiver that", () => {
  it.each([
    ["answers 500", "?answer=500", 500, "answered 500"],
    ["answers 404", "?answer=404", 404, "answered 404"],
    ["redirects", "?answer=redirect", 302, "answered 302"],
    ["cuts the connection", "?answer=reset", null, "the host could not be reached"],
    ["does not answer", "?answer=hang", null, "no answer within 2000 ms"],
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

  it.each([
    ["is slow", "stall"],
    ["is cut off", "cut"],
    ["is badly encoded", "garbled"],
  ])("answers 200 counts as reached, though the body %s", async (_, answer) => {
    const path = freshPath();
    const { id: webhookId } = await service.create(`${path}?answer=${answer}`);
    await happen(["X402_PAYMENT_SETTLED"]);
    await service.settle();
    expect(await service.deliveries(webhookId)).toMatchObject([
      { status: "Success", attempts: 1, responseStatus: 200, error: null },
    ]);
  });

  it("answers 103 first is judged by its final status", async () => {
    const { id: webhookId } = await service.create(freshPath("?answer=hints"));
    await happen(["X402_PAYMENT_SETTLED"]);
    await service.settle();
    expect(await service.deliveries(webhookId)).toMatchObject([
      { status: "Success", attempts: 1, responseStatus: 200, error: null },
    ]);
  });

  it("does not answer has 25 seconds at most, whatever the variable says", async () => {
    const patient = new WebhookService({ WEBHOOK_TIMEOUT_MS: "3600000" });
    shortenTimeouts([25_000]);
    const { id: webhookId } = await patient.create(freshPath("?answer=hang"));
    await happen(["X402_PAYMENT_SETTLED"]);
    await patient.settle();
    expect(await patient.deliveries(webhookId)).toMatchObject([
      { status: "Retrying", error: "no answer within 25000 ms" },
    ]);
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
      await service.pass(Date.parse(delivery.nextAttemptAt) - Date.now() + 31 * SECOND);
      times.push(Date.now() - begun);
    }
    const waits = [5 * SECOND, 5 * MINUTE, 30 * MINUTE, 2 * HOUR, 5 * HOUR, 10 * HOUR, 14 * HOUR];
    for (const [i, wait] of [...waits, 20 * HOUR, 24 * HOUR].entries()) {
      const waited = (times[i + 1] ?? 0) - (times[i] ?? 0);
      expect(waited).toBeGreaterThanOrEqual(wait * 0.8);
      expect(waited).toBeLessThanOrEqual(wait + MINUTE);
    }
    const found = await arrivals(path);
    expect(idsOf(found)).toEqual(Array(10).fill(id));
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
    // What was on its way fails: how much that is depends on how fast the first answer came.
    const failed = statuses.filter((status: string) => status === "Failed").length;
    expect(failed).toBeGreaterThan(0);
    expect(failed).toBeLessThanOrEqual(6);
    expect(statuses.sort()).toEqual([
      ...Array(11 - failed).fill("Cancelled"),
      ...Array(failed).fill("Failed"),
    ]);
    await happen(["X402_PAYMENT_SETTLED"]);
    await service.settle();
    await service.pass(DAY);
    expect(await arrivals(path)).toHaveLength(failed);
  });
});
