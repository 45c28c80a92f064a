/** The built Worker with a D1 that counts: the rows that everything it does reads and writes. */
import { cpSync, readdirSync, renameSync, writeFileSync } from "node:fs";
import { dirname, extname, join } from "node:path";
import { objectNames } from "./floor.ts";
import type { BenchService } from "./service.ts";

const PATH = "/bench/rows";
const MODULES = [".js", ".mjs", ".ttf"];

/** Rows as D1 counts them. */
export interface CountedRows {
  read: number;
  written: number;
  /** By statement: the most that it read in one go. */
  most: Record<string, number>;
}

/**
 * Wraps a bundle, so that its routes, crons and objects all use a D1 that counts. What counts costs CPU: it
 * is not for measuring time.
 *
 * @param bundle - path of the built Worker
 * @param folder - where the wrapped one is put
 * @returns its path
 */
export function countedBundle(bundle: string, folder: string): string {
  return wrappedBundle(bundle, join(folder, "counted"), WRAPPER, wrappedObject);
}

/** Wraps a bundle, `copy` being the new folder, in a module that imports it as `./service.mjs`. */
export function wrappedBundle(
  bundle: string,
  copy: string,
  wrapper: string,
  objectOf: (name: string) => string,
): string {
  const from = dirname(bundle);
  const modules = readdirSync(from, { recursive: true, encoding: "utf8" }).filter((name) =>
    MODULES.includes(extname(name)),
  );
  for (const name of modules) cpSync(join(from, name), join(copy, name));
  renameSync(join(copy, "worker.js"), join(copy, "service.mjs"));
  const path = join(copy, "worker.js");
  writeFileSync(path, `${wrapper}\n${objectNames().map(objectOf).join("\n")}`);
  return path;
}

/** What was counted since the last time. */
export async function takeRows({ host }: Pick<BenchService, "host">): Promise<CountedRows> {
  const response = await fetchPatiently(`${host.url}${PATH}`);
  return (await response.json()) as CountedRows;
}

const wrappedObject = (name: string) =>
  `export class ${name} extends service.${name} {
    constructor(state, env) { super(state, counting(env)); }
  }`;

/** Drizzle reads raw rows, which come without counts: such a query is asked a second time. */
const WRAPPER = `import * as service from "./service.mjs";
let [read, written, most] = [0, 0, {}];
const add = ({ meta }, sql) => {
  const rows = meta?.rows_read ?? 0;
  read += rows;
  written += meta?.rows_written ?? 0;
  most[sql] = Math.max(most[sql] ?? 0, rows);
};
const added = async (result, ...sql) => {
  for (const [i, one] of [await result].flat().entries()) add(one, sql[i]);
  return result;
};
const statement = (inner, sql) => ({
  inner,
  sql,
  bind: (...params) => statement(inner.bind(...params), sql),
  all: () => added(inner.all(), sql),
  run: () => added(inner.run(), sql),
  async first(column) {
    const { results: [row = null] } = await added(inner.all(), sql);
    return column === undefined || row === null ? row : row[column];
  },
  async raw(options) {
    if (/^\\s*select/i.test(sql)) await added(inner.all(), sql);
    return inner.raw(options);
  },
});
const session = (inner) => ({
  prepare: (sql) => statement(inner.prepare(sql), sql),
  batch: (all) => added(inner.batch(all.map((one) => one.inner)), ...all.map((one) => one.sql)),
});
const database = (inner) => ({
  ...session(inner),
  withSession(where) {
    const own = inner.withSession(where);
    return { ...session(own), getBookmark: () => own.getBookmark() };
  },
});
const counting = ({ DB, SEARCH_DB, ...env }) =>
  ({ ...env, DB: database(DB), SEARCH_DB: database(SEARCH_DB) });
export default {
  fetch(request, env, context) {
    if (new URL(request.url).pathname !== "${PATH}")
      return service.default.fetch(request, counting(env), context);
    const counted = Response.json({ read, written, most });
    [read, written, most] = [0, 0, {}];
    return counted;
  },
  scheduled: (event, env, context) => service.default.scheduled(event, counting(env), context),
  queue: (batch, env, context) => service.default.queue(batch, counting(env), context),
};`;

/**
 * workerd closes connections that were idle while a statement kept it busy for seconds: a request that was
 * sent on one is sent once more.
 */
export async function fetchPatiently(url: string, init?: RequestInit): Promise<Response> {
  try {
    return await fetch(url, init);
  } catch {
    return fetch(url, init);
  }
}
