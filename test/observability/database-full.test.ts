/** A database that is full, or nearly, as callers, operators and Admins' receivers see it. */
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { findMonitor } from "../../src/db/database-monitor.ts";
import type { Env } from "../../src/env.ts";
import { checkService } from "../../src/observability/check-service.ts";
import { computeDaysLeft } from "../../src/observability/database-size.ts";
import { runSchedule } from "../../src/schedule.ts";
import { app, emptyTables } from "../support/app.ts";
import { fullD1 } from "../support/full-d1.ts";
import { ASLEEP } from "../support/objects.ts";
import { insertFollowed } from "../support/sources/sources.ts";
import { holdEventsToTheDocument } from "../support/webhooks/declared.ts";
import {
  arrivals,
  freshPath,
  happen,
  idsOf,
  WebhookService,
} from "../support/webhooks/receivers.ts";

const HOUR = 60 * 60_000;
const MINUTE = 60_000;
const DAY = 24 * HOUR;

let service: WebhookService;
let path: string;
let full: Env;

holdEventsToTheDocument(["DATABASE_NEARLY_FULL", "DATABASE_FULL"]);
beforeEach(async () => {
  vi.spyOn(console, "error").mockImplementation(() => {});
  vi.spyOn(console, "warn").mockImplementation(() => {});
  await emptyTables();
  await findMonitor(env).endFull();
  service = new WebhookService();
  path = freshPath();
  await service.create(path);
  full = { ...service.env, DB: fullD1(env.DB).d1 };
});
afterEach(() => {
  vi.restoreAllMocks();
});

function ask(of: Env, method: string, at: string, body?: object) {
  const headers = { token: env.ADMIN_KEY ?? "", "content-type": "application/json" };
  const init = { method, headers, ...(body && { body: JSON.stringify(body) }) };
  return Promise.resolve(app.request(`/api/v1${at}`, init, of));
}

async function reasons(of: Env): Promise<{ kind: string; count: number; text: string }[]> {
  const answer = await ask(of, "GET", "/health");
  return ((await answer.json()) as { data: { reasons: never[] } }).data.reasons;
}

const told = async () =>
  (await arrivals(path)).map(({ body }) => JSON.parse(body) as { id: string; type: string });

describe("a full database", () => {
  it("answers writes 503 database_full, and reads as ever", async () => {
    const answer = await ask(full, "POST", "/api-key", { permission: "User" });
    expect([answer.status, answer.headers.get("retry-after")]).toEqual([503, "60"]);
    expect(await answer.json()).toMatchObject({
      error: { code: "database_full", docs: expect.stringContaining("#database_full") },
    });
    expect((await ask(full, "GET", "/webhooks")).status).toBe(200);
    expect((await ask(full, "GET", "/health/ready")).status).toBe(200);
  });

  it("is a reason of the health as soon as a write was refused", async () => {
    expect(await reasons(full)).toEqual([]);
    await ask(full, "POST", "/api-key", { permission: "User" });
    expect(await reasons(full)).toEqual([
      { kind: "DATABASE_FULL", count: 1, text: expect.stringContaining("of 10.00 GB are used") },
    ]);
  });

  it("alarms Admins without a row, once, and stores the same event when there is room", async () => {
    await insertFollowed("stuck");
    await ask(full, "POST", "/api-key", { permission: "User" });
    await checkService(full, "test", Date.now());
    await checkService(full, "test", Date.now());
    expect(await told()).toMatchObject([{ type: "DATABASE_FULL", sequence: 1 }]);
    const count = "SELECT count(*) AS n FROM incident";
    expect(await env.DB.prepare(count).first("n")).toBe(0);

    await checkService(service.env, "test", Date.now());
    await service.settle();
    const all = await told();
    const [first, ...others] = all.filter(({ type }) => type === "DATABASE_FULL");
    expect(others.map(({ id }) => id)).toEqual([first?.id]);
    expect(all.map(({ type }) => type)).toContain("SOURCE_STUCK");
    await checkService(service.env, "test", Date.now());
    expect((await reasons(service.env)).map(({ kind }) => kind)).toEqual(["SOURCE_STUCK"]);
  });

  it("does not stop the cron, which alarms Admins", async () => {
    await ask(full, "POST", "/api-key", { permission: "User" });
    await runSchedule({ ...full, ...ASLEEP });
    expect(await told()).toMatchObject([{ type: "DATABASE_FULL" }]);
  });

  it("alarms only the receivers that have not received the event", async () => {
    const other = freshPath();
    const { id } = await service.create(other);
    await ask(full, "POST", "/api-key", { permission: "User" });
    await findMonitor(env).addReceivers([id]);
    await checkService(full, "test", Date.now());
    expect([(await told()).length, (await arrivals(other)).length]).toEqual([1, 0]);
  });
});

describe("a delivery whose outcome a full database cannot store", () => {
  it("is repeated under its id when there is room", async () => {
    await happen(["PAYMENT_ON_ERROR"]);
    await service.wake();
    // The claim is the consumer's first write, and the outcome its second.
    const { d1 } = fullD1(env.DB, (n) => n > 1);
    const consumer = new WebhookService({ DB: d1 });
    consumer.waiting.push(...service.waiting.splice(0));
    await consumer.drain();
    const [first] = await arrivals(path);
    vi.useFakeTimers({ toFake: ["Date"] });
    await service.pass(2 * MINUTE);
    vi.useRealTimers();
    const all = await arrivals(path);
    expect(idsOf(all)).toEqual([first, first].map((one) => one?.headers["webhook-id"]));
  });
});

describe("a database that is nearly full", () => {
  it("is a reason, an event and a metric, with the days that are left", async () => {
    const size = (await env.DB.prepare("SELECT 1").run()).meta.size_after;
    const nearly = { ...service.env, DATABASE_MAX_BYTES: String(Math.floor(size / 0.8)) };
    expect(await reasons(nearly)).toMatchObject([
      { kind: "DATABASE_NEARLY_FULL", text: expect.stringMatching(/^0\.00 of 0\.00 GB are used/) },
    ]);
    await checkService(nearly, "test", Date.now());
    await service.settle();
    expect(await told()).toMatchObject([
      { type: "DATABASE_NEARLY_FULL", data: { database: "DB", maxBytes: Math.floor(size / 0.8) } },
    ]);
    const text = await (await ask(nearly, "GET", "/metrics")).text();
    expect(text).toMatch(/^agent_payment_database_bytes\{database="DB"\} \d{4,}$/m);
    expect(text).toMatch(/^agent_payment_database_bytes\{database="SEARCH_DB"\} \d{4,}$/m);
    expect(text).toContain(`database_max_bytes{database="DB"} ${Math.floor(size / 0.8)}`);
    await checkService(service.env, "test", Date.now() + MINUTE);
    expect(await reasons(service.env)).toEqual([]);
  });

  it("has days left by its growth since the oldest sample", () => {
    const oldest = { at: 0, bytes: 1_000 };
    expect(computeDaysLeft([oldest], { at: DAY, bytes: 2_000 }, 10_000)).toBe(8);
    expect(computeDaysLeft([oldest], { at: DAY, bytes: 2_000 }, 1_500)).toBe(0);
    expect(computeDaysLeft([oldest], { at: DAY, bytes: 1_000 }, 10_000)).toBeNull();
    expect(computeDaysLeft([oldest], { at: HOUR - 1, bytes: 2_000 }, 10_000)).toBeNull();
    expect(computeDaysLeft([], { at: DAY, bytes: 2_000 }, 10_000)).toBeNull();
  });

  it("is sampled once an hour, for a week", async () => {
    const monitor = findMonitor(env);
    const { samples: before } = await monitor.read();
    const begin = (before.at(-1)?.at ?? 0) + HOUR;
    for (let i = 0; i < 2 * 170; i++)
      await monitor.addSample({ at: begin + (i * HOUR) / 2, bytes: i });
    const { samples } = await monitor.read();
    expect(samples).toHaveLength(168);
    expect(samples.at(-1)).toEqual({ at: begin + 169 * HOUR, bytes: 338 });
  });
});
