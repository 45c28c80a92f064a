/**
 * Faults around the built Worker, bundled beside it: D1 calls fail or take long, replicas are behind, queue messages
 * come late and twice, objects lose their memory. A POST to `FAULTS_PATH` sets how often.
 */
import { env } from "cloudflare:workers";
import { replaceMethod } from "../replace-method.ts";
import { answerAsReplica, type Session } from "./lagging-replicas.ts";
import { FAULTS_PATH, NO_FAULTS, type WorkerFaults } from "./worker-faults.ts";

interface Handlers {
  fetch(request: Request, env: unknown, context: unknown): Response | Promise<Response>;
  scheduled(event: unknown, env: unknown, context: unknown): Promise<void>;
  queue(batch: unknown, env: unknown, context: unknown): Promise<void>;
}
type MessageSendRequest =
  Parameters<Queue["sendBatch"]>[0] extends Iterable<infer One> ? One : never;
type Bindings = Record<string, unknown>;
type Methods = Record<string, (...args: unknown[]) => unknown>;

/** D1 says so when nobody knows whether the statement was applied. */
const LOST = "D1_ERROR: Network connection lost.";
const OVERLOADED = "D1_ERROR: D1 DB is overloaded. Requests queued for too long.";
const FULL = "D1_ERROR: Exceeded maximum DB size";
const ARCHIVES = ["ARCHIVE_1", "ARCHIVE_2", "ARCHIVE_3"];
/** More than a database may have. */
const FULL_BYTES = 10 ** 12;
const MAX_LATE_SECONDS = 10;

let faults: WorkerFaults = NO_FAULTS;

const happens = (share: number) => share > 0 && Math.random() < share;
/** What takes room. */
const isWrite = (sql: unknown) => /^\s*(insert|update|replace)\b/i.test(String(sql));
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** The handlers of the Worker, with faults in what they call. */
export function addFaults(handlers: Handlers): Handlers {
  breakDatabase();
  breakQueues(env.EVENTS);
  return {
    scheduled: (event, bindings, context) =>
      handlers.scheduled(event, fillArchives(bindings as Bindings), context),
    queue: (batch, bindings, context) => handlers.queue(batch, bindings, context),
    async fetch(request, bindings, context) {
      if (new URL(request.url).pathname !== FAULTS_PATH)
        return handlers.fetch(request, bindings, context);
      faults = (await request.json()) as WorkerFaults;
      return new Response();
    },
  };
}

/** A class of objects that lose their memory now and then, before a call or after it. */
export function evictObject(Base: new (...args: never[]) => object) {
  const Reliable = Base as new (state: DurableObjectState, env: unknown) => object;
  class Evicted extends Reliable {}
  for (const method of Object.getOwnPropertyNames(Base.prototype)) {
    if (method === "constructor") continue;
    const inner = (Base.prototype as Methods)[method];
    Object.defineProperty(Evicted.prototype, method, {
      async value(this: { ctx: DurableObjectState }, ...args: unknown[]) {
        if (happens(faults.evictedBefore)) this.ctx.abort("evicted");
        const result = await inner?.apply(this, args);
        if (happens(faults.evictedAfter)) this.ctx.abort("evicted");
        return result;
      },
    });
  }
  return Evicted;
}

/** All calls of a database go through one method of its session. */
function breakDatabase(): void {
  replaceMethod(env.DB.withSession(), "_send", async (call, [, sql, params], session) => {
    const statements = sql as string | string[];
    if (faults.isD1Full && [statements].flat().some(isWrite)) throw new Error(FULL);
    if (faults.d1SlowMs > 0) await pause(Math.random() * faults.d1SlowMs);
    if (happens(faults.d1Before)) throw new Error(happens(0.3) ? OVERLOADED : LOST);
    const result = await answerAsReplica(
      session as Session,
      [statements, params],
      faults.replicaLagMs,
      call,
    );
    if (happens(faults.d1After)) throw new Error(LOST);
    return result;
  });
}

/** The first archives have no room, in each run of the cron some others, so that escrows move to all of them. */
function fillArchives(bindings: Bindings): Bindings {
  const full = ARCHIVES.slice(0, Math.floor(Math.random() * ARCHIVES.length));
  const filled = full.map((name) => [name, reportAsFull(bindings[name] as D1Database)]);
  return { ...bindings, ...Object.fromEntries(filled) };
}

function reportAsFull(archive: D1Database): Pick<D1Database, "withSession"> {
  return {
    withSession(where?: string) {
      const session = archive.withSession(where);
      const batch = async <Row>(statements: D1PreparedStatement[]) =>
        (await session.batch<Row>(statements)).map((result) => ({
          ...result,
          meta: { ...result.meta, size_after: FULL_BYTES },
        }));
      return {
        prepare: (sql: string) => session.prepare(sql),
        getBookmark: () => session.getBookmark(),
        batch,
      };
    },
  };
}

/** The queues have one class: breaking one breaks both. */
function breakQueues(queue: Queue): void {
  const { send, sendBatch } = Object.getPrototypeOf(queue) as Pick<Queue, "send" | "sendBatch">;
  const deliver = async (now: () => unknown, late: (delaySeconds: number) => unknown) => {
    if (happens(faults.queueLost)) return;
    if (happens(faults.queueDoubled)) await now();
    if (happens(faults.queueLate)) await late(Math.ceil(Math.random() * MAX_LATE_SECONDS));
    else await now();
  };
  replaceMethod(queue, "send", (call, [body], self) =>
    deliver(call, (delaySeconds) => send.call(self as Queue, body, { delaySeconds })),
  );
  replaceMethod(queue, "sendBatch", (call, [messages], self) =>
    deliver(call, (delaySeconds) =>
      sendBatch.call(self as Queue, messages as MessageSendRequest[], { delaySeconds }),
    ),
  );
}
