/** From the commit of an event to its receivers: how many a second, how late, and rows written. */
import { join } from "node:path";
import { until } from "../devnet/client/wait.ts";
import { type Receiver, startReceiver } from "../devnet/demo/receiver.ts";
import { developmentSecrets } from "../devnet/secrets.ts";
import { MAX_CONCURRENT_FETCHES } from "../src/connections.ts";
import { newId } from "../src/db/id.ts";
import type { DeliveryMessage, Env } from "../src/env.ts";
import { deliverEvents } from "../src/webhooks/delivery/deliver-events.ts";
import { dispatchEvents } from "../src/webhooks/delivery/dispatch-events.ts";
import { purgeDeliveries } from "../src/webhooks/delivery/sweep-deliveries.ts";
import { countingWrites } from "../test/support/d1.ts";
import { MAX_CONNECTIONS } from "./platform/invocation.ts";
import { meteredBundle, onPlatform } from "./platform/metered-bundle.ts";
import { startFloor } from "./support/floor.ts";
import {
  type BenchContext,
  type BenchService,
  call,
  startBenchService,
} from "./support/service.ts";
import { percentile } from "./support/statistics.ts";
import type { Row } from "./support/table.ts";

/** What the bill allows, purge included. */
const ROWS_PER_DELIVERY = 6;
const ROWS_PER_EVENT = 3;
const KIND = "X402_PAYMENT_SETTLED";
/** What only the neighbour is subscribed to. */
const NEIGHBOUR_KIND = "X402_PAYMENT_FAILED";
/** About what a payment with its histories takes. */
const DATA = JSON.stringify({ record: "x".repeat(4_000) });
const POLL_MS = 10;
const DAY_MS = 24 * 60 * 60 * 1000;
const STOPPED_AFTER_S = 600;
const CREATED_AT_ONCE = 25;

export interface WebhookFigures {
  rows: Row[];
  writes: Row[];
  neighbours: Row[];
  matches: Row[];
  excesses: string[];
}

/** Measures the service with 1, 10 and 100 endpoints, all at one receiver that answers at once. */
export async function benchWebhooks(context: BenchContext): Promise<WebhookFigures> {
  const plan = context.quick
    ? ([
        [1, 50],
        [10, 20],
      ] as const)
    : ([
        [1, 2_000],
        [10, 500],
        [100, 100],
      ] as const);
  const floorMs = await sendingAlone(context.quick ? 60 : 3_000);
  const rows: Row[] = [];
  const writes: Row[] = [];
  for (const [endpoints, events] of plan) {
    const receiver = await startReceiver();
    const service = await startBenchService(onPlatform(context), {
      LOOPBACK_ORIGINS: receiver.url,
      WEBHOOK_ENDPOINTS_PER_KEY: String(endpoints),
    });
    try {
      await createEndpoints(service, receiver, endpoints);
      // First, while the tables hold nothing else that could be purged.
      writes.push(await rowsWritten(service, context, receiver, endpoints));
      const { perSecond, cpuMs } = await throughput(service, receiver, endpoints, events);
      const lags = await lag(service, receiver, endpoints, context.quick ? 5 : 40);
      rows.push({
        endpoints,
        events,
        "events/s": perSecond,
        "deliveries/s": perSecond * endpoints,
        "CPU ms/delivery": cpuMs / (events * endpoints),
        "sending alone": floorMs,
        "lag p50 ms": percentile(lags, 0.5),
        "lag p99 ms": percentile(lags, 0.99),
      });
    } finally {
      await service.host.close();
      await receiver.close();
    }
  }
  const excesses = writes.flatMap((row) =>
    Number(row["per event"]) > ROWS_PER_EVENT || Number(row["per delivery"]) > ROWS_PER_DELIVERY
      ? [`too many rows written: ${JSON.stringify(row)}`]
      : [],
  );
  return {
    rows,
    writes,
    neighbours: await benchNeighbours(context),
    matches: [await benchMatches(context)],
    excesses,
  };
}

/** Measures events that each match one of a thousand endpoints, by their sources. */
async function benchMatches(context: BenchContext): Promise<Row> {
  const endpoints = 1_000;
  const receiver = await startReceiver();
  const service = await startBenchService(onPlatform(context), {
    LOOPBACK_ORIGINS: receiver.url,
    WEBHOOK_ENDPOINTS_PER_KEY: String(endpoints),
  });
  try {
    await createEndpoints(service, receiver, endpoints);
    const { d1 } = service.host;
    await d1.prepare("UPDATE webhook_endpoint SET source_id = 'source-' || rowid").run();
    const begun = await commit(d1, endpoints);
    await d1.prepare("UPDATE event SET source_id = 'source-' || seq").run();
    await wakeDispatcher(service);
    const fannedOut = async () => {
      const sql = "SELECT count(*) = ? AS isDone FROM webhook_delivery";
      return (await d1.prepare(sql).bind(endpoints).first<number>("isDone")) === 1;
    };
    const wait = { everyMs: POLL_MS, limitMs: STOPPED_AFTER_S * 1000 };
    await until(fannedOut, { ...wait, what: "the last delivery" });
    const fanOutS = (performance.now() - begun) / 1000;
    await received(receiver, endpoints, 1);
    return {
      endpoints,
      events: endpoints,
      "fanned out/s": endpoints / fanOutS,
      "events/s": endpoints / ((performance.now() - begun) / 1000),
    };
  } finally {
    await service.host.close();
    await receiver.close();
  }
}

/**
 * The harness alone: CPU milliseconds of a Worker that only sends bodies of that size to the receiver.
 * It sends as many at once as one batch of the service does.
 */
async function sendingAlone(deliveries: number): Promise<number> {
  const receiver = await startReceiver();
  const floor = await startFloor();
  try {
    const url = floor.postUrl(`${receiver.url}/floor`, MAX_CONCURRENT_FETCHES, DATA.length);
    return (
      (await floor.cpuMsOf(url, Math.ceil(deliveries / MAX_CONCURRENT_FETCHES))) /
      MAX_CONCURRENT_FETCHES
    );
  } finally {
    await floor.close();
    await receiver.close();
  }
}

/** How a neighbour's receiver answers, and how many of its events are on their way. */
const NEIGHBOURS = [
  { neighbour: "none", query: "", events: 0 },
  { neighbour: "answers after 1 s", query: "?answer=late&ms=1000", events: 200 },
  { neighbour: "hangs", query: "?answer=hang", events: 40 },
] as const;

/** Measures the lag of one endpoint's events while another endpoint's receiver is slow. */
async function benchNeighbours(context: BenchContext): Promise<Row[]> {
  const rows: Row[] = [];
  const bundle = meteredBundle(context, { ...context.platform, connections: MAX_CONNECTIONS });
  const connected = { ...context, bundle };
  for (const { neighbour, query, events } of NEIGHBOURS) {
    const receiver = await startReceiver();
    const service = await startBenchService(connected, { LOOPBACK_ORIGINS: receiver.url });
    try {
      await createEndpoint(service, `${receiver.url}/0`, KIND);
      if (events > 0) {
        await createEndpoint(service, `${receiver.url}/neighbour${query}`, NEIGHBOUR_KIND);
        await commit(service.host.d1, events, NEIGHBOUR_KIND);
        await wakeDispatcher(service);
        await until(() => receiver.arrivals("/neighbour").length > 0, {
          what: "an event at the neighbour",
          everyMs: POLL_MS,
        });
      }
      const lags = await lag(service, receiver, 1, context.quick ? 3 : 20);
      rows.push({
        neighbour,
        "neighbour's events": events,
        "first lag ms": lags[0] ?? 0,
        "lag p50 ms": percentile(lags, 0.5),
        "longest lag ms": Math.max(...lags),
      });
    } finally {
      await service.host.close();
      await receiver.close();
    }
  }
  return rows;
}

async function createEndpoints(
  service: BenchService,
  receiver: Receiver,
  count: number,
): Promise<void> {
  const urls = Array.from({ length: count }, (_, i) => `${receiver.url}/${i}`);
  // Some at a time: a thousand one by one take ten minutes when each database call takes long.
  while (urls.length > 0)
    await Promise.all(
      urls.splice(0, CREATED_AT_ONCE).map((url) => createEndpoint(service, url, KIND)),
    );
}

/** Subscribes a URL to one kind of event. */
export async function createEndpoint(
  service: BenchService,
  url: string,
  kind: string,
): Promise<void> {
  await call(service, "/api/v1/webhooks", { method: "POST", body: { url, Events: [kind] } });
}

/** Does what a change does once its event is committed. */
function wakeDispatcher({ host }: BenchService): Promise<void> {
  return host.send("EVENTS", { v: 1, requestId: "bench" });
}

/** Commits events as a change would, in one batch, and says when that was. */
export async function commit(d1: D1Database, count: number, kind: string = KIND): Promise<number> {
  const rows = Array.from({ length: count }, () => ({ id: newId(Date.now()) }));
  await d1
    .prepare(
      `INSERT INTO event (id, kind, network, source_id, record_id, sequence, data, created_at)
       SELECT value->>'id', ?, 'Preprod', NULL, value->>'id', 1, ?, ? FROM json_each(?)`,
    )
    .bind(kind, DATA, Date.now(), JSON.stringify(rows))
    .run();
  return performance.now();
}

const arrived = (receiver: Receiver, endpoints: number) =>
  Array.from({ length: endpoints }, (_, i) => receiver.arrivals(`/${i}`).length);

/** Waits until every endpoint has received so many. */
async function received(receiver: Receiver, endpoints: number, each: number): Promise<void> {
  await until(() => arrived(receiver, endpoints).every((count) => count >= each), {
    what: `${each} events at each endpoint`,
    everyMs: POLL_MS,
    limitMs: STOPPED_AFTER_S * 1000,
  });
}

/** All events are there at once; what counts is how long the last of them takes. */
async function throughput(
  service: BenchService,
  receiver: Receiver,
  endpoints: number,
  events: number,
): Promise<{ perSecond: number; cpuMs: number }> {
  const cpuBefore = service.cpuMs();
  let begun = 0;
  for (let left = events; left > 0; left -= 200) {
    const at = await commit(service.host.d1, Math.min(left, 200));
    begun ||= at;
  }
  const before = receiver.arrivals("/0").length;
  await wakeDispatcher(service);
  await received(receiver, endpoints, before + events);
  const seconds = (performance.now() - begun) / 1000;
  return { perSecond: events / seconds, cpuMs: service.cpuMs() - cpuBefore };
}

/** One event at a time: milliseconds from its commit to each receiver. */
async function lag(
  service: BenchService,
  receiver: Receiver,
  endpoints: number,
  events: number,
): Promise<number[]> {
  const lags: number[] = [];
  for (let sent = 0; sent < events; sent++) {
    const before = receiver.arrivals("/0").length;
    await commit(service.host.d1, 1);
    const committed = Date.now();
    await wakeDispatcher(service);
    await received(receiver, endpoints, before + 1);
    for (let i = 0; i < endpoints; i++) {
      const last = receiver.arrivals(`/${i}`).at(-1);
      if (last) lags.push(Math.max(last.at - committed, 0));
    }
  }
  return lags;
}

/**
 * Rows that twenty events cost when they come one by one, which is the worst case. The service's own
 * statements run from here, so that D1's counts can be read.
 */
async function rowsWritten(
  service: BenchService,
  { folder }: BenchContext,
  receiver: Receiver,
  endpoints: number,
): Promise<Row> {
  const events = 20;
  const counting = countingWrites(service.host.d1);
  const waiting: DeliveryMessage[] = [];
  const env = {
    ...developmentSecrets(join(folder, ".dev.vars")),
    DB: counting.d1,
    LOOPBACK_ORIGINS: receiver.url,
    DELIVERIES: {
      sendBatch: async (messages: { body: DeliveryMessage }[]) => {
        waiting.push(...messages.map(({ body }) => body));
      },
    },
  } as unknown as Env;
  for (let sent = 0; sent < events; sent++) {
    await commit(counting.d1, 1);
    await dispatchEvents(env, "bench");
    while (waiting.length > 0) {
      const background: Promise<void>[] = [];
      await deliverEvents(env, waiting.splice(0, 6), (work) => background.push(work));
      await Promise.all(background);
    }
  }
  await purgeDeliveries(env, Date.now() + 40 * DAY_MS);
  return {
    endpoints,
    "per event": counting.rowsWritten(/^(INSERT INTO|UPDATE|DELETE FROM) event/) / events,
    "per delivery":
      counting.rowsWritten(/^(INSERT INTO|UPDATE|DELETE FROM) webhook_/) / (events * endpoints),
  };
}
