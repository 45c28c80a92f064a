/** The built Worker with a D1 that counts: the rows that everything it does reads and writes. */
import { cpSync, mkdirSync, readdirSync, renameSync, writeFileSync } from "node:fs";
import { dirname, extname, join } from "node:path";
import { objectNames } from "./floor.ts";
import type { BenchService } from "./service.ts";

const PATH = "/bench/rows";
const MODULES = [".js", ".mjs", ".ttf"];

/** Rows as D1 counts them. */
export interface CountedRows {
  read: number;
  written: number;
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
  const copy = join(folder, "counted");
  mkdirSync(copy);
  const from = dirname(bundle);
  for (const name of readdirSync(from))
    if (MODULES.includes(extname(name))) cpSync(join(from, name), join(copy, name));
  renameSync(join(copy, "worker.js"), join(copy, "service.mjs"));
  const path = join(copy, "worker.js");
  writeFileSync(path, `${WRAPPER}\n${objectNames().map(wrappedObject).join("\n")}`);
  return path;
}

/** What was counted since the last time. */
export async function takeRows({ host }: BenchService): Promise<CountedRows> {
  const response = await fetch(`${host.url}${PATH}`);
  return (await response.json()) as CountedRows;
}

const wrappedObject = (name: string) =>
  `export class ${name} extends service.${name} {
    constructor(state, env) { super(state, counting(env)); }
  }`;

/** Drizzle reads raw rows, which come without counts: such a query is asked a second time. */
const WRAPPER = `import * as service from "./service.mjs";
let [read, written] = [0, 0];
const add = ({ meta }) => { read += meta?.rows_read ?? 0; written += meta?.rows_written ?? 0; };
const added = async (result) => { for (const one of [await result].flat()) add(one); return result; };
const statement = (inner, sql) => ({
  inner,
  bind: (...params) => statement(inner.bind(...params), sql),
  all: () => added(inner.all()),
  run: () => added(inner.run()),
  async first(column) {
    const { results: [row = null] } = await added(inner.all());
    return column === undefined || row === null ? row : row[column];
  },
  async raw(options) {
    if (/^\\s*select/i.test(sql)) await added(inner.all());
    return inner.raw(options);
  },
});
const session = (inner) => ({
  prepare: (sql) => statement(inner.prepare(sql), sql),
  batch: (all) => added(inner.batch(all.map((one) => one.inner))),
});
const counting = ({ DB, ...env }) => ({
  ...env,
  DB: {
    ...session(DB),
    withSession(where) {
      const inner = DB.withSession(where);
      return { ...session(inner), getBookmark: () => inner.getBookmark() };
    },
  },
});
export default {
  fetch(request, env, context) {
    if (new URL(request.url).pathname !== "${PATH}")
      return service.default.fetch(request, counting(env), context);
    const counted = Response.json({ read, written });
    [read, written] = [0, 0];
    return counted;
  },
  scheduled: (event, env, context) => service.default.scheduled(event, counting(env), context),
  queue: (batch, env, context) => service.default.queue(batch, counting(env), context),
};`;
