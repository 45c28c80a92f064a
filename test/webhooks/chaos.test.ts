import { env } from "cloudflare:workers";
import { Webhook } from "standardwebhooks";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { DeliveryMessage } from "../../src/env.ts";
import type { EventKind } from "../../src/webhooks/kinds.ts";
import { emptyTables } from "../support/app.ts";
import { wrapD1 } from "../support/d1.ts";
import { happen, WebhookService } from "../support/webhooks.ts";

const MINUTE = 60_000;

/** Numbers in [0, 1), the same in every run (mulberry32). */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Kills what runs at one of its awaited steps, before or after the step took effect. */
class Fuse {
  #left = Number.POSITIVE_INFINITY;
  #when: "before" | "after" = "before";
  steps = 0;

  light(steps: number, when: "before" | "after"): void {
    this.#left = steps;
    this.#when = when;
    this.steps = 0;
  }

  async step<T>(run: () => Promise<T>): Promise<T> {
    this.steps++;
    const left = --this.#left;
    if (left < 0 || (left === 0 && this.#when === "before")) throw new Error("killed");
    const result = await run();
    if (left === 0) throw new Error("killed");
    return result;
  }

  burnt(): boolean {
    return this.#left <= 0;
  }
}

type Behaviour = (eventId: string) => Response | "reset" | "hang";

/** A receiver behind the network: what it took with 2xx, how often, by event. */
interface FakeReceiver {
  secret: string;
  took: Map<string, number>;
  behave: Behaviour;
}

let fuse: Fuse;
/** Timeouts run in the test's time: one is over as soon as its receiver hangs. */
let timeouts: Map<AbortSignal, AbortController>;
let receivers: Map<string, FakeReceiver>;

/** The network: each receiver answers as it is, and every body must bear its signature. */
async function network(url: URL, init: RequestInit): Promise<Response> {
  const receiver = receivers.get(url.pathname);
  if (!receiver) throw new Error(`nobody is at ${url.pathname}`);
  const headers = init.headers as Record<string, string>;
  new Webhook(receiver.secret).verify(String(init.body), headers);
  const id = headers["webhook-id"] ?? "";
  const answer = receiver.behave(id);
  if (answer === "reset") throw new Error("Network connection lost.");
  if (answer === "hang")
    return new Promise((_, reject) => {
      init.signal?.addEventListener("abort", () => reject(new Error("aborted")));
      if (init.signal) timeouts.get(init.signal)?.abort();
    });
  if (answer.ok) receiver.took.set(id, (receiver.took.get(id) ?? 0) + 1);
  return answer;
}

beforeEach(async () => {
  await emptyTables();
  fuse = new Fuse();
  receivers = new Map();
  timeouts = new Map();
  vi.spyOn(AbortSignal, "timeout").mockImplementation(() => {
    const controller = new AbortController();
    timeouts.set(controller.signal, controller);
    return controller.signal;
  });
  vi.useFakeTimers({ toFake: ["Date"] });
  for (const level of ["warn", "error"] as const)
    vi.spyOn(console, level).mockImplementation(() => {});
  const realFetch = globalThis.fetch;
  vi.stubGlobal("fetch", (input: RequestInfo | URL, init: RequestInit = {}) => {
    const url = new URL(input instanceof Request ? input.url : input);
    if (url.origin !== env.RECEIVER_URL) return realFetch(input, init);
    return fuse.step(() => network(url, init));
  });
});
afterEach(() => {
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
  vi.useRealTimers();
});

/** A service that the fuse can kill, and whose queue fails as told. */
function fragileService(queueFails: () => boolean): WebhookService {
  const service = new WebhookService();
  const { sendBatch } = service.env.DELIVERIES;
  const killable = {
    DB: wrapD1(env.DB, (_, run) => fuse.step(run)),
    DELIVERIES: {
      sendBatch: (messages: { body: DeliveryMessage }[]) =>
        fuse.step(async () => {
          if (queueFails()) throw new Error("Too Many Requests");
          await sendBatch(messages);
        }),
    },
  };
  Object.assign(service.env, killable);
  return service;
}

async function addReceiver(name: string, behave: Behaviour, fields: object): Promise<FakeReceiver> {
  const { secret } = await new WebhookService().create(name, fields);
  const receiver = { secret, took: new Map<string, number>(), behave };
  receivers.set(name, receiver);
  return receiver;
}

async function openDeliveries(): Promise<{ n: number; next: number | null }> {
  const row = await env.DB.prepare(
    "SELECT count(*) AS n, min(due_at) AS next FROM webhook_delivery WHERE due_at IS NOT NULL",
  ).first<{ n: number; next: number | null }>();
  return row ?? { n: 0, next: null };
}

describe("events, whatever the receivers, the queue and the consumers do", () => {
  it("reach every endpoint that is subscribed and lives, at least once, and nothing is stuck", async () => {
    const random = seeded(20_260);
    const kinds: EventKind[] = ["X402_PAYMENT_SETTLED", "X402_PAYMENT_FAILED"];
    /** Fails the same event at most four times, so that it is alive however the dice fall. */
    const misbehaving = (share: number, ways: (() => ReturnType<Behaviour>)[]): Behaviour => {
      const failures = new Map<string, number>();
      return (id) => {
        const failed = failures.get(id) ?? 0;
        if (failed >= 4 || random() >= share) return new Response("ok");
        failures.set(id, failed + 1);
        return ways[Math.floor(random() * ways.length)]?.() ?? new Response("ok");
      };
    };
    const retryAfter = (status: number) =>
      new Response("", { status, headers: { "retry-after": String(Math.ceil(random() * 900)) } });
    const living = [
      { kinds, receiver: await addReceiver("/ok", () => new Response("ok"), { Events: kinds }) },
      {
        kinds: [kinds[0]],
        receiver: await addReceiver(
          "/flaky",
          misbehaving(0.3, [
            () => new Response("", { status: 500 }),
            () => retryAfter(429),
            () => retryAfter(503),
            () => new Response("", { status: 307, headers: { location: "https://a.dev/" } }),
            () => "reset",
            () => "hang",
          ]),
          { Events: [kinds[0]] },
        ),
      },
      {
        kinds: [kinds[1]],
        receiver: await addReceiver("/busy", misbehaving(0.7, [() => retryAfter(429)]), {
          Events: [kinds[1]],
        }),
      },
    ];
    const broken = () => new Response("", { status: 500 });
    await addReceiver("/broken", broken, { Events: ["X402_PAYMENT_FAILED"] });
    let asked = 0;
    const leaving = () => new Response("", { status: asked++ < 200 ? 200 : 410 });
    await addReceiver("/leaving", leaving, { Events: [kinds[1]] });

    const service = fragileService(() => random() < 0.1);
    let kills = 0;
    /** One invocation of the Worker, killed now and then; the queue may or may not try again. */
    const invoke = async (run: () => Promise<unknown>) => {
      const dies = random() < 0.12;
      const when = random() < 0.5 ? "before" : "after";
      fuse.light(dies ? 1 + Math.floor(random() * 40) : Number.POSITIVE_INFINITY, when);
      await run().catch(() => undefined);
      if (fuse.burnt()) kills++;
      fuse.light(Number.POSITIVE_INFINITY, "before");
    };
    const drain = async () => {
      for (;;) {
        const visible = service.waiting.filter(({ visibleAt }) => visibleAt <= Date.now());
        if (visible.length === 0) return;
        const batch = visible.slice(0, 100);
        for (const one of batch) service.waiting.splice(service.waiting.indexOf(one), 1);
        const before = kills;
        await invoke(() =>
          service.consume(
            "deliveries",
            batch.map(({ body }) => body),
          ),
        );
        if (kills > before && random() < 0.5) service.waiting.push(...batch.slice(0, 10));
      }
    };

    const sent = new Map<EventKind, string[]>(kinds.map((kind) => [kind, []]));
    for (let written = 0; written < 5_000; written += 250) {
      const burst = Array.from({ length: 250 }, () => kinds[random() < 0.7 ? 0 : 1] ?? kinds[0]);
      const ids = await happen(burst as EventKind[]);
      for (const [i, id] of ids.entries()) sent.get(burst[i] as EventKind)?.push(id);
      vi.setSystemTime(Date.now() + 500);
      if (random() < 0.8) await invoke(() => service.wake());
      await drain();
    }
    for (let rounds = 0; ; rounds++) {
      await invoke(() => service.minute());
      await drain();
      const [{ n, next }, pending] = [
        await openDeliveries(),
        await env.DB.prepare(
          "SELECT count(*) AS n FROM event WHERE seq > (SELECT seq FROM event_cursor)",
        ).first<number>("n"),
      ];
      if (n === 0 && pending === 0) break;
      if (rounds > 300) throw new Error(`${n} deliveries are stuck`);
      vi.setSystemTime(Math.max(Date.now() + 30 * MINUTE, (next ?? 0) + 2 * MINUTE));
    }

    let duplicates = 0;
    for (const { kinds: own, receiver } of living) {
      const due = own.flatMap((kind) => sent.get(kind as EventKind) ?? []);
      expect(due.filter((id) => !receiver.took.has(id))).toEqual([]);
      expect(receiver.took.size).toBe(due.length);
      duplicates += [...receiver.took.values()].reduce((sum, times) => sum + times - 1, 0);
    }
    const { results } = await env.DB.prepare(
      "SELECT status, count(*) AS n, sum(attempt) AS attempts FROM webhook_delivery GROUP BY status",
    ).all();
    console.info(`duplicates: ${duplicates}, kills: ${kills}, ${JSON.stringify(results)}`);
    expect(kills).toBeGreaterThan(20);
    const active = await env.DB.prepare(
      "SELECT count(*) AS n FROM webhook_endpoint WHERE is_active = 1",
    ).first<number>("n");
    // The broken one and the one that left were disabled.
    expect(active).toBe(living.length);
    expect(results.map(({ status }) => status).sort()).toEqual(["Cancelled", "Failed", "Success"]);
  }, 120_000);
});

describe("a dispatch and a delivery stopped at any awaited step", () => {
  it.each(["before", "after"] as const)(
    "end with every event delivered, and none stuck (stopped %s the step)",
    async (when) => {
      const kinds: EventKind[] = ["X402_PAYMENT_SETTLED", "X402_PAYMENT_FAILED"];
      const receiver = await addReceiver("/ok", () => new Response("ok"), { Events: kinds });
      const service = fragileService(() => false);
      const run = async () => {
        await service.wake().catch(() => undefined);
        await service.drain().catch(() => undefined);
      };
      fuse.light(Number.POSITIVE_INFINITY, when);
      await happen(kinds);
      await run();
      const { steps } = fuse;
      expect(receiver.took.size).toBe(2);
      expect(steps).toBeGreaterThanOrEqual(10);

      let duplicates = 0;
      for (let k = 1; k <= steps; k++) {
        receiver.took.clear();
        const ids = await happen(kinds);
        fuse.light(k, when);
        await run();
        fuse.light(Number.POSITIVE_INFINITY, when);
        vi.setSystemTime(Date.now() + 2 * MINUTE);
        await service.minute();
        await service.drain();
        // One more: the step that was killed may have been a first attempt, whose retry is due now.
        vi.setSystemTime(Date.now() + MINUTE);
        await service.minute();
        await service.drain();
        expect([...receiver.took.keys()].sort(), `stopped at step ${k}`).toEqual(ids.sort());
        expect((await openDeliveries()).n, `stopped at step ${k}`).toBe(0);
        duplicates += [...receiver.took.values()].reduce((sum, times) => sum + times - 1, 0);
      }
      console.info(`stopped ${when} each of ${steps} steps: ${duplicates} duplicates`);
    },
    60_000,
  );
});
