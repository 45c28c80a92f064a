/** The built Worker with the connections of the platform: the simulator has no limit. */
import { join } from "node:path";
import { wrappedBundle } from "./counted.ts";

/** Connections that an invocation may have open on the platform. */
const MAX_CONNECTIONS = 6;

/**
 * Wraps a bundle, so that each invocation of a queue's consumer has six connections. A request, a
 * statement of D1 and a message to a queue each take one until the answer begins; others wait.
 *
 * @param folder - where the wrapped bundle is put
 * @returns its path
 */
export function connectedBundle(bundle: string, folder: string): string {
  const objectOf = (name: string) => `export const ${name} = service.${name};`;
  return wrappedBundle(bundle, join(folder, "connected"), WRAPPER, objectOf);
}

const WRAPPER = `import { AsyncLocalStorage } from "node:async_hooks";
import * as service from "./service.mjs";
const invocations = new AsyncLocalStorage();
class Connections {
  free = ${MAX_CONNECTIONS};
  waiting = [];
  async take(work) {
    if (this.free > 0) this.free--;
    else await new Promise((resolve) => this.waiting.push(resolve));
    try {
      return await work();
    } finally {
      const next = this.waiting.shift();
      if (next) next();
      else this.free++;
    }
  }
}
const limited = (work) => invocations.getStore()?.take(work) ?? work();
const { fetch } = globalThis;
globalThis.fetch = (...args) => limited(() => fetch(...args));
const statement = (inner) => ({
  inner,
  bind: (...params) => statement(inner.bind(...params)),
  all: () => limited(() => inner.all()),
  run: () => limited(() => inner.run()),
  first: (...column) => limited(() => inner.first(...column)),
  raw: (options) => limited(() => inner.raw(options)),
});
const session = (inner) => ({
  prepare: (sql) => statement(inner.prepare(sql)),
  batch: (all) => limited(() => inner.batch(all.map((one) => one.inner))),
});
const database = (inner) => ({
  ...session(inner),
  withSession(where) {
    const own = inner.withSession(where);
    return { ...session(own), getBookmark: () => own.getBookmark() };
  },
});
const producer = (inner) => ({
  send: (...args) => limited(() => inner.send(...args)),
  sendBatch: (...args) => limited(() => inner.sendBatch(...args)),
});
const connected = ({ DB, EVENTS, DELIVERIES, ...env }) => ({
  ...env,
  DB: database(DB),
  EVENTS: producer(EVENTS),
  DELIVERIES: producer(DELIVERIES),
});
export default {
  fetch: (request, env, context) => service.default.fetch(request, env, context),
  scheduled: (event, env, context) => service.default.scheduled(event, env, context),
  queue: (batch, env, context) =>
    invocations.run(new Connections(), () => service.default.queue(batch, connected(env), context)),
};`;
