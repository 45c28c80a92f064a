/**
 * The meter: it is bundled beside the built Worker, whose handlers and objects it wraps. It replaces
 * methods of the runtime's classes, and knows by an `AsyncLocalStorage` which invocation calls them. Work
 * that several invocations share counts for the one that began it.
 */

import { env } from "cloudflare:workers";
import { AsyncLocalStorage } from "node:async_hooks";
import { replaceMethod } from "../../devnet/replace-method.ts";
import {
  type Counts,
  Invocation,
  LABEL_HEADER,
  METER_PATH,
  type Metered,
  ObjectClock,
  type PlatformLimits,
  UNLIMITED,
} from "./invocation.ts";

/** A queue bills each 64 KB of a message. */
const QUEUE_UNIT_BYTES = 64_000;

interface Handlers {
  fetch(request: Request, env: unknown, context: unknown): Response | Promise<Response>;
  scheduled(event: unknown, env: unknown, context: unknown): Promise<void>;
  queue(batch: Batch, env: unknown, context: unknown): Promise<void>;
}

interface Batch {
  queue: string;
  messages: readonly { body: unknown }[];
}

type Method = (...args: unknown[]) => unknown;
type Methods = Record<string, Method>;

const current = new AsyncLocalStorage<Invocation>();
let limits = UNLIMITED;
let invocations: Invocation[] = [];
let rows: Metered["rows"] = { read: 0, written: 0, most: {} };

const count = (name: keyof Counts, by: number) => {
  const invocation = current.getStore();
  if (invocation) invocation.counts[name] += by;
};
/** Counts a call that takes a connection. */
const connect = <Result>(name: keyof Counts, by: number, work: () => Promise<Result>) => {
  count(name, by);
  return current.getStore()?.connect(work) ?? work();
};

/** The handlers of the Worker, metered. */
export function meterHandlers(handlers: Handlers, platform: PlatformLimits): Handlers {
  limits = platform;
  meterBindings();
  return {
    fetch(request, bindings, context) {
      const { pathname } = new URL(request.url);
      if (pathname === METER_PATH) return Response.json(take());
      const label = request.headers.get(LABEL_HEADER);
      const kind = `${request.method} ${pathname}${label === null ? "" : `, ${label}`}`;
      return run(kind, async ({ counts }) => {
        const response = await handlers.fetch(request, bindings, context);
        const body = response.body && (await response.arrayBuffer());
        counts["answer bytes"] += body?.byteLength ?? 0;
        return new Response(body, response);
      });
    },
    scheduled: (event, bindings, context) =>
      run("cron", () => handlers.scheduled(event, bindings, context)),
    queue: (batch, bindings, context) =>
      run(`queue ${batch.queue.replace(/^agent-payment-/, "")}`, ({ counts }) => {
        // Each message is read and deleted.
        counts["queue ops"] += 2 * unitsOf(batch.messages);
        return handlers.queue(batch, bindings, context);
      }),
  };
}

/** A class of objects, metered: each call and alarm is an invocation. */
export function meterObject(name: string, Base: new (...args: never[]) => object) {
  const Unmetered = Base as new (state: DurableObjectState, env: unknown) => object;
  const clocks = new WeakMap<object, ObjectClock>();
  class MeteredObject extends Unmetered {
    constructor(state: DurableObjectState, bindings: unknown) {
      super(state, bindings);
      meterStorage(state.storage);
      clocks.set(this, new ObjectClock(performance.now.bind(performance)));
    }
  }
  for (const method of Object.getOwnPropertyNames(Base.prototype)) {
    if (method === "constructor") continue;
    const inner = (Base.prototype as Methods)[method] as Method;
    Object.defineProperty(MeteredObject.prototype, method, {
      value(this: { ctx: DurableObjectState }, ...args: unknown[]) {
        const work = () => inner.apply(this, args);
        // A call within the object is no invocation.
        if (current.getStore()?.kind.startsWith(`${name}.`)) return work();
        return run(
          `${name}.${method}`,
          async ({ counts }) => {
            const result = await work();
            counts["object bytes"] = this.ctx.storage.sql.databaseSize;
            return result;
          },
          clocks.get(this),
        );
      },
    });
  }
  return MeteredObject;
}

async function run<Result>(
  kind: string,
  work: (invocation: Invocation) => Promise<Result>,
  clock?: ObjectClock,
): Promise<Result> {
  const invocation = new Invocation(kind, limits.connections);
  invocations.push(invocation);
  clock?.begin(invocation);
  try {
    return await current.run(invocation, () => work(invocation));
  } finally {
    clock?.end(invocation);
    invocation.isEnded = true;
  }
}

function take(): Metered {
  const ended = invocations.filter(({ isIdle }) => isIdle);
  invocations = invocations.filter(({ isIdle }) => !isIdle);
  const metered = {
    invocations: ended.map(({ kind, counts }) => ({ kind, counts })),
    running: invocations.length,
    rows,
  };
  rows = { read: 0, written: 0, most: {} };
  return metered;
}

function meterBindings(): void {
  meterDatabase();
  const send = (messages: Batch["messages"], call: () => unknown) =>
    connect("queue ops", unitsOf(messages), async () => call());
  replaceMethod(env.EVENTS, "send", (call, [body]) => send([{ body }], call));
  replaceMethod(env.EVENTS, "sendBatch", (call, [all]) => send(all as Batch["messages"], call));
  replaceMethod(env.HOT_WALLET, "get", (call) => meterStub(call() as Methods));

  const { fetch } = globalThis;
  globalThis.fetch = (...args) => connect("fetches", 1, () => fetch(...args));
  for (const level of ["debug", "log", "info", "warn", "error"] as const) {
    const write = console[level];
    console[level] = (...args) => {
      count("log lines", 1);
      write(...args);
    };
  }
}

function unitsOf(messages: Batch["messages"]): number {
  return messages.reduce(
    (sum, { body }) => sum + Math.ceil(JSON.stringify(body).length / QUEUE_UNIT_BYTES),
    0,
  );
}

/** A call of another object takes a connection until it answers. */
function meterStub(stub: Methods): Methods {
  return new Proxy(stub, {
    get(target, name: string) {
      const value: unknown = target[name];
      if (typeof value !== "function") return value;
      return (...args: unknown[]) =>
        connect("object calls", 1, async () => (target[name] as Method)(...args));
    },
  });
}

type Statements = readonly string[];
interface StatementResult {
  meta?: { rows_read?: number; rows_written?: number };
}

/** All calls of a database go through one method of its session, which sees the rows of `raw` too. */
function meterDatabase(): void {
  const session = env.DB.withSession();
  const always = Object.getPrototypeOf(session);
  const meter = (self: object, statements: Statements, call: () => unknown) => {
    // A database without `withSession` has a session of another class.
    const { bookmarkOrConstraint } = self as { bookmarkOrConstraint: string | null };
    const isReplica =
      Object.getPrototypeOf(self) === always &&
      bookmarkOrConstraint !== "first-primary" &&
      statements.every((sql) => /^\s*(select|with)\b/i.test(sql) && !WRITE_PATTERN.test(sql));
    if (!isReplica) count("primary", 1);
    const work = async () => {
      if (limits.d1Ms > 0) await new Promise((resolve) => setTimeout(resolve, limits.d1Ms));
      const answer = await call();
      for (const [i, result] of [answer].flat().entries())
        addRows(result as StatementResult, statements[i] ?? "");
      return answer;
    };
    return current.getStore()?.query(work) ?? work();
  };
  replaceMethod(session, "_send", (call, [, sql], self) =>
    meter(self, [sql].flat() as Statements, call),
  );
}

const WRITE_PATTERN = /\b(insert|update|delete)\b/i;

function addRows({ meta }: StatementResult, sql: string): void {
  const { rows_read: read = 0, rows_written: written = 0 } = meta ?? {};
  count("rows read", read);
  count("rows written", written);
  rows.read += read;
  rows.written += written;
  rows.most[sql] = Math.max(rows.most[sql] ?? 0, read);
}

let isStorageMetered = false;

/** A key is a row, and so is an alarm. */
function meterStorage(storage: DurableObjectStorage): void {
  if (isStorageMetered) return;
  isStorageMetered = true;
  for (const owner of [storage, storage.kv]) {
    const add = (name: string, column: keyof Counts) =>
      replaceMethod(owner, name, (call, [keys]) => {
        count(column, typeof keys === "object" ? Object.keys(keys ?? {}).length : 1);
        return call();
      });
    add("get", "object rows read");
    add("put", "object rows written");
    add("delete", "object rows written");
  }
  replaceMethod(storage, "setAlarm", (call) => {
    count("object rows written", 1);
    return call();
  });
  replaceMethod(storage.sql, "exec", (call) => {
    const cursor = call() as { rowsRead: number; rowsWritten: number };
    const invocation = current.getStore();
    // The rows are read by then: no statement is left open beyond its turn.
    queueMicrotask(() => {
      if (!invocation) return;
      invocation.counts["object rows read"] += cursor.rowsRead;
      invocation.counts["object rows written"] += cursor.rowsWritten;
    });
    return cursor;
  });
}
