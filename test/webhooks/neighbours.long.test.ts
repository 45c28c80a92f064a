import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { emptyTables } from "../support/app.ts";
import { insertKey } from "../support/keys.ts";
import {
  type Arrival,
  arrivals,
  freshPath,
  happen,
  idsOf,
  planAnswers,
  releaseHeld,
  WebhookService,
} from "../support/webhooks/receivers.ts";

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
/** What only the slow endpoint is subscribed to, and only the other one. */
const [SLOW, PROMPT] = ["X402_PAYMENT_FAILED", "X402_PAYMENT_SETTLED"] as const;

let service: WebhookService;

/** Two endpoints of two API keys. */
async function twoTenants(slowQuery: string) {
  const [slow, prompt] = [freshPath(), freshPath()];
  const [slowKey, promptKey] = [
    await insertKey({ canPay: true }),
    await insertKey({ canPay: true }),
  ];
  const { id } = await service.create(`${slow}${slowQuery}`, { Events: [SLOW] }, slowKey);
  await service.create(prompt, { Events: [PROMPT] }, promptKey);
  return { slow, slowId: id, prompt };
}

async function statusesOf(webhookId: string): Promise<string[]> {
  const deliveries = await service.deliveries(webhookId);
  return deliveries.map(({ status }: { status: string }) => status);
}

beforeEach(async () => {
  await emptyTables();
  vi.useFakeTimers({ toFake: ["Date"] });
  // No receiver of these tests is given up before they release it.
  service = new WebhookService({ WEBHOOK_TIMEOUT_MS: "25000" });
});
afterEach(() => {
  vi.useRealTimers();
});

describe("beside an endpoint of another key", () => {
  test("whose receiver leaves all of its requests open, an event arrives before any of them is answered", async () => {
    const { slow, slowId, prompt } = await twoTenants("?answer=hold");
    const held = await happen(Array(40).fill(SLOW));
    await service.wake();
    const heldEnd = await service.drainAhead();

    const [id] = await happen([PROMPT]);
    await service.wake();
    const promptEnd = await service.drainAhead();
    expect(idsOf(await arrivals(prompt))).toEqual([id]);
    expect(await statusesOf(slowId)).toEqual(Array(40).fill("Pending"));
    expect((await arrivals(slow)).length).toBeLessThanOrEqual(12);

    await releaseHeld(slow);
    await Promise.all([heldEnd(), promptEnd()]);
    await service.drain();
    expect(idsOf(await arrivals(slow)).sort()).toEqual(held.sort());
    expect(await statusesOf(slowId)).toEqual(Array(40).fill("Success"));
  });

  test("and others that leave each connection of a consumer open, an event goes with the next consumer", async () => {
    const held = Array.from({ length: 4 }, freshPath);
    for (const path of held) await service.create(`${path}?answer=hold`);
    const prompt = freshPath();
    await service.create(prompt);
    const [id] = await happen([PROMPT]);
    await service.wake();
    const end = await service.drainAhead();
    expect(idsOf(await arrivals(prompt))).toEqual([id]);

    for (const path of held) await releaseHeld(path);
    await end();
  });

  test("whose receiver answers after a second, an event does not wait for the backlog", async () => {
    const { slow, slowId, prompt } = await twoTenants("?answer=late&ms=200");
    const late = await happen(Array(60).fill(SLOW));
    await service.wake();
    const [id] = await happen([PROMPT]);
    await service.wake();
    const end = await service.drainAhead();
    const [arrival, ...more] = await arrivals(prompt);
    expect(idsOf([arrival as Arrival, ...more])).toEqual([id]);
    const before = (await arrivals(slow)).filter(({ at }) => at <= (arrival?.at ?? 0));
    expect(before.length).toBeLessThan(60);

    await end();
    await service.drain();
    expect(idsOf(await arrivals(slow)).sort()).toEqual(late.sort());
    expect(await statusesOf(slowId)).toEqual(Array(60).fill("Success"));
  });

  test("one consumer sends four requests at the same time, which leaves connections for the database", async () => {
    const { slow } = await twoTenants("?answer=late&ms=50");
    const ids = await happen(Array(12).fill(SLOW));
    await service.wake();
    let [open, most] = [0, 0];
    const { fetch } = globalThis;
    vi.stubGlobal("fetch", async (...args: Parameters<typeof fetch>) => {
      open++;
      most = Math.max(most, open);
      return fetch(...args).finally(() => open--);
    });
    const [first] = service.waiting.splice(0);
    await service.consume("deliveries", first ? [first.body] : []);
    vi.unstubAllGlobals();
    expect(most).toBe(4);
    await service.drain();
    expect(idsOf(await arrivals(slow)).sort()).toEqual(ids.sort());
  });

  test("with a backlog, an event is sent with the deliveries that were claimed first", async () => {
    const { prompt } = await twoTenants("");
    await happen(Array(40).fill(SLOW));
    const [id] = await happen([PROMPT]);
    await service.wake();
    const bodies = service.waiting.splice(0).map(({ body }) => body);
    await service.consume("deliveries", bodies);
    expect(idsOf(await arrivals(prompt))).toEqual([id]);
  });
});

describe("an endpoint that does not answer in time", () => {
  beforeEach(() => {
    service = new WebhookService({ WEBHOOK_TIMEOUT_MS: "200" });
  });

  /** From here on the receiver answers, and in time on a busy machine too. */
  const waitForAnswers = () => {
    service.env.WEBHOOK_TIMEOUT_MS = "25000";
  };

  test("three times in a row backs off as a whole, is tried with one delivery, and recovers when it answers", async () => {
    const path = freshPath();
    const { id: webhookId } = await service.create(`${path}?answer=hang`);
    const ids = await happen(Array(20).fill(SLOW));
    await service.settle();
    const first = (await arrivals(path)).length;
    expect(first).toBeLessThan(20);
    expect(await service.listed(webhookId)).toMatchObject({
      isActive: true,
      pausedUntil: new Date(Date.now() + 15 * SECOND).toISOString(),
    });
    await service.pass(14 * SECOND);
    expect(await arrivals(path)).toHaveLength(first);
    await service.pass(SECOND);
    expect(await arrivals(path)).toHaveLength(first + 1);

    await planAnswers(path, [[]]);
    waitForAnswers();
    await service.pass(MINUTE);
    expect(await service.listed(webhookId)).toMatchObject({ pausedUntil: null });
    await service.pass(10 * MINUTE);
    expect(new Set(idsOf(await arrivals(path)))).toEqual(new Set(ids));
    expect(await statusesOf(webhookId)).toEqual(Array(20).fill("Success"));
  });

  test("is tried at least every five minutes, and disabled after three days without an answer", async () => {
    const path = freshPath();
    const { id: webhookId } = await service.create(`${path}?answer=hang`);
    await happen(Array(20).fill(SLOW));
    await service.settle();
    for (let passed = 0; passed < 5; passed++) await service.pass(10 * MINUTE);
    const { pausedUntil } = await service.listed(webhookId);
    expect(Date.parse(pausedUntil)).toBe(Date.now() + 5 * MINUTE);
    await service.pass(76 * 60 * MINUTE);
    expect(await service.listed(webhookId)).toMatchObject({
      isActive: false,
      disabledReason: "no attempt was answered in time for three days",
    });
    const statuses = new Set(await statusesOf(webhookId));
    expect(statuses).toEqual(new Set(["Cancelled"]));
  });

  test("does not back off when it answers with an error in between", async () => {
    const path = freshPath();
    const { id: webhookId } = await service.create(path);
    const answers = ["hang", "hang", "500", "hang", "hang"];
    await planAnswers(
      path,
      answers.map((answer) => [`answer=${answer}`]),
    );
    for (const answer of answers) {
      service.env.WEBHOOK_TIMEOUT_MS = answer === "hang" ? "200" : "25000";
      await happen([SLOW]);
      await service.settle();
    }
    expect(await arrivals(path)).toHaveLength(5);
    expect(await service.listed(webhookId)).toMatchObject({ pausedUntil: null });
  });

  test("receives everything at once when its URL changes", async () => {
    const path = freshPath();
    const { id: webhookId } = await service.create(`${path}?answer=hang`);
    await happen(Array(20).fill(SLOW));
    await service.settle();
    const other = freshPath();
    await service.ask("PATCH", "", { webhookId, url: `${env.RECEIVER_URL}${other}` });
    waitForAnswers();
    await service.pass(2 * MINUTE);
    expect((await arrivals(other)).length).toBeGreaterThan(12);
  });
});
