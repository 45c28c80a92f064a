/**
 * The floor of the harness: what workerd and the simulated D1 take for an answer before our code does
 * anything. A Worker of a few lines has the service's bindings and a table of texts. Each figure is
 * shown beside the floor's: for nothing, for one query of as many rows and bytes, or for requests to a
 * receiver.
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Host, startHost } from "../../devnet/host.ts";
import { objectNames } from "../../devnet/wrapped-bundle.ts";
import { cpuMs, workerdPid } from "./process-cpu.ts";

const TEXTS = 1_000;
const TEXTS_PER_INSERT = 50;
/** Of a text; a row of more bytes has the whole. */
const TEXT_BYTES = 6_000;

export interface Floor {
  /** URL of an answer without a body. */
  emptyUrl(): string;
  /** URL of an answer of so many bytes, in the texts of the rows that one query finds. */
  queryUrl(rows: number, bytes: number): string;
  /** URL of an answer that comes when so many requests were sent to a receiver at once, each with so many bytes. */
  postUrl(receiver: string, times: number, bytes: number): string;
  /** URL of an answer that comes when an address of a provider was read so many times at once, as JSON. */
  readUrl(address: string, times: number): string;
  /** CPU milliseconds of workerd so far. */
  cpuMs(): number;
  /**
   * Asks for a URL one time after the other, after a first one that is not counted.
   *
   * @returns CPU milliseconds of each
   */
  cpuMsOf(url: string, times: number): Promise<number>;
  close(): Promise<void>;
}

/** Starts the Worker of the floor. */
export async function startFloor(): Promise<Floor> {
  const folder = mkdtempSync(join(tmpdir(), "floor-"));
  const bundle = join(folder, "worker.js");
  writeFileSync(bundle, emptyModule(FETCH));
  const host = await startHost({ bindings: {}, rateLimits: false, isDirect: true, bundle });
  const pid = workerdPid();
  await fill(host);
  const cpuMsSoFar = () => cpuMs(pid);
  return {
    emptyUrl: () => `${host.url}/api`,
    queryUrl(rows, bytes) {
      const from = Math.floor(Math.random() * (TEXTS - rows));
      return `${host.url}/api?rows=${rows}&from=${from}&bytes=${Math.round(bytes / rows)}`;
    },
    postUrl(receiver, times, bytes) {
      const query = new URLSearchParams({ receiver, times: `${times}`, bytes: `${bytes}` });
      return `${host.url}/api?${query}`;
    },
    readUrl(address, times) {
      return `${host.url}/api?${new URLSearchParams({ address, times: `${times}` })}`;
    },
    cpuMs: cpuMsSoFar,
    async cpuMsOf(url, times) {
      await ask(url);
      const before = cpuMsSoFar();
      for (let asked = 0; asked < times; asked++) await ask(url);
      return (cpuMsSoFar() - before) / times;
    },
    async close() {
      await host.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function ask(url: string): Promise<void> {
  const response = await fetch(url);
  await response.arrayBuffer();
  if (!response.ok) throw new Error(`the floor answers ${response.status}`);
}

const FETCH = `async fetch(request, env) {
    const query = new URL(request.url).searchParams;
    if (query.has("receiver")) {
      const body = "x".repeat(Number(query.get("bytes")));
      const post = () => fetch(query.get("receiver"), { method: "POST", body });
      const answers = await Promise.all(Array.from({ length: Number(query.get("times")) }, post));
      await Promise.all(answers.map((answer) => answer.body?.cancel()));
      return new Response();
    }
    if (query.has("address")) {
      const read = async () => JSON.parse(await (await fetch(query.get("address"), { headers: { project_id: "floor" } })).text());
      await Promise.all(Array.from({ length: Number(query.get("times")) }, read));
      return new Response();
    }
    if (!query.has("rows")) return new Response();
    const { results } = await env.DB.prepare("SELECT substr(text, 1, ?) AS text FROM floor WHERE id > ? LIMIT ?")
      .bind(...["bytes", "from", "rows"].map((name) => Number(query.get(name))))
      .all();
    return new Response("[" + results.map(({ text }) => text).join(",") + "]");
  }`;

/**
 * A module that does nothing, but has the objects that the configuration names, so that it gets the bindings
 * of the service.
 *
 * @param fetch - the method that answers requests
 */
export function emptyModule(fetch = "fetch: () => new Response()"): string {
  return [
    `import { DurableObject } from "cloudflare:workers";`,
    ...objectNames().map((name) => `export class ${name} extends DurableObject {}`),
    `export default { ${fetch}, scheduled() {}, queue() {} };`,
  ].join("\n");
}

async function fill({ d1 }: Host): Promise<void> {
  await d1.exec("CREATE TABLE floor (id INTEGER PRIMARY KEY, text TEXT NOT NULL)");
  const insert = d1.prepare("INSERT INTO floor (text) VALUES (?)").bind("x".repeat(TEXT_BYTES));
  for (let i = 0; i < TEXTS; i += TEXTS_PER_INSERT)
    await d1.batch(Array.from({ length: TEXTS_PER_INSERT }, () => insert));
}
