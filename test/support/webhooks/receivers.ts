import {
  createExecutionContext,
  createMessageBatch,
  getQueueResult,
  waitOnExecutionContext,
} from "cloudflare:test";
import { env } from "cloudflare:workers";
import { Webhook } from "standardwebhooks";
import { expect, vi } from "vitest";
import { openDb } from "../../../src/db/client.ts";
import type { DeliveryMessage, Env } from "../../../src/env.ts";
import {
  EVENT_KINDS,
  type EventKind,
  TENANT_EVENT_KINDS,
} from "../../../src/events/event-kinds.ts";
import { writeEvent } from "../../../src/events/outbox.ts";
import {
  purgeDeliveries,
  sweepDeliveries,
} from "../../../src/webhooks/delivery/sweep-deliveries.ts";
import worker from "../../../src/worker.ts";
import { app } from "../app.ts";

/** As many messages as the platform gives a consumer of deliveries; see `wrangler.toml`. */
const MAX_BATCH = 6;

/** What a request to `/webhooks` came to. */
export interface Answer {
  status: number;
  // biome-ignore lint/suspicious/noExplicitAny: the assertions are what checks the answer's shape
  data: any;
  message: string | undefined;
  /** The header, seconds. */
  retryAfter: string | null;
}

/** What arrived at the receiver; see devnet/demo/receiver.ts. */
export interface Arrival {
  at: number;
  headers: Record<string, string>;
  body: string;
  /** How it was answered; empty: 200, at once. */
  answered: string;
}

/** The queue that the tests deliver by hand: messages wait until `drain`. */
interface Waiting {
  body: DeliveryMessage;
  /** Epoch milliseconds. */
  visibleAt: number;
}

/**
 * The service with its queues in the test's hand: what is sent waits here, and `drain` gives it to
 * the consumer as the platform would. Code, D1 and the receiver are real.
 */
export class WebhookService {
  readonly waiting: Waiting[] = [];
  wakes = 0;
  readonly env: Env;

  constructor(overrides: Partial<Env> = {}) {
    this.env = {
      ...env,
      LOOPBACK_ORIGINS: [env.LOOPBACK_ORIGINS, env.RECEIVER_URL, env.BYSTANDER_URL].join(),
      WEBHOOK_TIMEOUT_MS: "2000",
      EVENTS: {
        send: async () => {
          this.wakes++;
        },
      } as unknown as Env["EVENTS"],
      DELIVERIES: {
        sendBatch: async (messages: { body: DeliveryMessage; delaySeconds?: number }[]) => {
          for (const { body, delaySeconds = 0 } of messages)
            this.waiting.push({ body, visibleAt: Date.now() + delaySeconds * 1000 });
        },
      } as unknown as Env["DELIVERIES"],
      ...overrides,
    };
  }

  /** Asks the API, as the administrator unless a token is given. */
  async ask(
    method: string,
    path: string,
    fields: object = {},
    options: { token?: string; headers?: Record<string, string> } = {},
  ): Promise<Answer> {
    const isGet = method === "GET";
    const query = isGet ? `?${new URLSearchParams(fields as Record<string, string>)}` : "";
    const answer = await app.request(
      `/api/v1/webhooks${path}${query}`,
      {
        method,
        headers: { token: options.token ?? env.ADMIN_KEY ?? "", ...options.headers },
        ...(!isGet && { body: JSON.stringify(fields) }),
      },
      this.env,
    );
    const json = (await answer.json()) as { data?: unknown; error?: { message: string } };
    return {
      status: answer.status,
      data: json.data,
      message: json.error?.message,
      retryAfter: answer.headers.get("retry-after"),
    };
  }

  /** Creates an endpoint at a path of the receiver, subscribed to everything unless told else. */
  async create(
    path: string,
    fields: object = {},
    token?: string,
  ): Promise<{ id: string; secret: string }> {
    const { status, data, message } = await this.ask(
      "POST",
      "",
      {
        url: `${env.RECEIVER_URL}${path}`,
        Events: token === undefined ? EVENT_KINDS : TENANT_EVENT_KINDS,
        ...fields,
      },
      token === undefined ? {} : { token },
    );
    if (status !== 200) throw new Error(`POST /webhooks: ${status} ${message}`);
    return data;
  }

  /** Fires the queue of wake-ups, as after a commit. */
  async wake(): Promise<void> {
    await this.consume("events", [{ v: 1, requestId: "test" }]);
  }

  /** Fires the queue until no message is visible any more, and nothing goes on in the background. */
  async drain(batchSize = MAX_BATCH): Promise<void> {
    for (let bodies = this.#take(batchSize); bodies.length > 0; bodies = this.#take(batchSize)) {
      const { retryBatch } = await this.consume("deliveries", bodies);
      if (retryBatch.retry) throw new Error("the consumer failed");
    }
  }

  /**
   * The same, but as the platform does it. A batch begins when the previous handler has returned,
   * even if that handler still works in the background.
   *
   * @returns waits for the background
   */
  async drainAhead(): Promise<() => Promise<unknown>> {
    const background: Promise<void>[] = [];
    for (let bodies = this.#take(MAX_BATCH); bodies.length > 0; bodies = this.#take(MAX_BATCH)) {
      const ctx = createExecutionContext();
      await worker.queue(batchOf("deliveries", bodies), this.env, ctx);
      background.push(waitOnExecutionContext(ctx));
    }
    return () => Promise.all(background);
  }

  /** Messages that are visible now, which the queue then forgets. */
  #take(count: number): DeliveryMessage[] {
    const now = Date.now();
    const visible = this.waiting.filter(({ visibleAt }) => visibleAt <= now).slice(0, count);
    for (const one of visible) this.waiting.splice(this.waiting.indexOf(one), 1);
    return visible.map(({ body }) => body);
  }

  /** Gives messages to the Worker's queue handler, and waits for what it does in the background. */
  async consume(queue: string, bodies: object[]) {
    const batch = batchOf(queue, bodies);
    const ctx = createExecutionContext();
    await worker.queue(batch, this.env, ctx);
    return getQueueResult(batch, ctx);
  }

  /** What the cron does for webhooks each minute. */
  async minute(): Promise<void> {
    await sweepDeliveries(this.env, "test");
    await purgeDeliveries(this.env, Date.now());
  }

  /** Everything that is to be done now is done. */
  async settle(): Promise<void> {
    await this.wake();
    await this.drain();
  }

  /** Lets time pass, and then the cron and the queue do what is due. The clock is the test's. */
  async pass(ms: number): Promise<void> {
    vi.setSystemTime(Date.now() + ms);
    await this.minute();
    await this.drain();
  }

  async deliveries(webhookId: string, filter: object = {}): Promise<Answer["data"]> {
    const { data } = await this.ask("GET", "/deliveries", { webhookId, limit: "100", ...filter });
    return data.Deliveries;
  }

  async listed(webhookId: string): Promise<Answer["data"]> {
    const { data } = await this.ask("GET", "", { limit: "50" });
    return data.Webhooks.find(({ id }: { id: string }) => id === webhookId);
  }
}

function batchOf(queue: string, bodies: object[]) {
  return createMessageBatch(
    queue,
    bodies.map((body, i) => ({ id: String(i), timestamp: new Date(), attempts: 1, body })),
  );
}

let events = 0;

/** Writes events as a change does, by default each for a separate record, and returns their ids. */
export async function happen(
  kinds: readonly EventKind[],
  where: {
    network?: string;
    sourceId?: string | null;
    ownerId?: string;
    recordId?: string;
    data?: object;
  } = {},
  d1: D1Database = env.DB,
): Promise<string[]> {
  const { network = "Preprod", sourceId = null, data = { message: "happened" } } = where;
  const now = Date.now();
  await openDb({ DB: d1 }).batch(
    kinds.map((kind) =>
      writeEvent(
        // The outbox takes any kind; its type keeps those of payments for their own writer.
        {
          kind: kind as never,
          network,
          sourceId,
          ownerId: where.ownerId ?? null,
          recordId: where.recordId ?? `record-${events++}`,
          sequence: 1,
          data,
        },
        now,
      ),
    ),
  );
  const rows = await openDb(env).all<{ id: string }>(
    "SELECT id FROM event ORDER BY seq DESC LIMIT ?",
    kinds.length,
  );
  return rows.map(({ id }) => id).reverse();
}

/** What has arrived at a path of the receiver, or of another one. */
export async function arrivals(path: string, origin = env.RECEIVER_URL): Promise<Arrival[]> {
  const answer = await fetch(`${origin}${path}`);
  return (await answer.json()) as Arrival[];
}

/** The same, which the receiver then forgets. */
export async function takeArrivals(path: string): Promise<Arrival[]> {
  const answer = await fetch(`${env.RECEIVER_URL}${path}`, { method: "DELETE" });
  return (await answer.json()) as Arrival[];
}

/** Tells the receiver how a path answers from now on; see `Plan` in devnet/demo/receiver.ts. */
export async function planAnswers(
  path: string,
  plan: readonly (readonly string[])[],
): Promise<void> {
  const body = JSON.stringify(plan);
  const told = await fetch(`${env.RECEIVER_URL}${path}`, { method: "PUT", body });
  if (!told.ok) throw new Error(`the receiver answered ${told.status}`);
  await told.body?.cancel();
}

/** Has the receiver answer what it holds at a path, and from now on at once. */
export async function releaseHeld(path: string): Promise<void> {
  const told = await fetch(`${env.RECEIVER_URL}${path}`, { method: "PATCH" });
  await told.body?.cancel();
}

/** The events' ids that arrived. */
export const idsOf = (found: readonly Arrival[]) =>
  found.map(({ headers }) => headers["webhook-id"]);

/** Nine attempts of what is open have failed already, so that the next one decides. */
export async function exhaustRetries(): Promise<void> {
  await env.DB.prepare(
    "UPDATE webhook_delivery SET failed_attempts = 9 WHERE due_at IS NOT NULL",
  ).run();
}

/** The audit log, oldest first. */
export async function audited(): Promise<unknown[]> {
  const { results } = await env.DB.prepare(
    "SELECT action, target, api_key_id AS key FROM audit ORDER BY id",
  ).all();
  return results;
}

/** All that the endpoints under `/webhooks` write, as text. */
export async function stored(): Promise<string> {
  const tables = ["webhook_endpoint", "webhook_delivery", "audit", "idempotency"];
  const rows = await Promise.all(
    tables.map((table) => env.DB.prepare(`SELECT * FROM ${table}`).all()),
  );
  return JSON.stringify(rows.map(({ results }) => results));
}

/** A time as the API writes it. */
export const ISO_TIME = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);

/**
 * Expects a valid signature of that very moment, and returns the body as it was verified. Clocks
 * are those of the test.
 */
export function verified(arrival: Arrival | undefined, secret: string): Record<string, unknown> {
  if (!arrival) throw new Error("nothing has arrived");
  const before = vi.getMockedSystemTime();
  try {
    vi.setSystemTime(Number(arrival.headers["webhook-timestamp"]) * 1000);
    return new Webhook(secret).verify(arrival.body, arrival.headers) as Record<string, unknown>;
  } finally {
    if (before) vi.setSystemTime(before);
    else vi.useRealTimers();
  }
}

let paths = 0;

/** A path of the receiver that nobody else uses. */
export function freshPath(query = ""): string {
  return `/${crypto.randomUUID().slice(0, 8)}-${paths++}${query}`;
}
