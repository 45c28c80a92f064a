/** Rows that each statement of the service reads, while its tables are small and once they are large. */
import { mkdtempSync } from "node:fs";
import { join } from "node:path";
import { type ApiAccess, ask } from "../devnet/client/api.ts";
import { until } from "../devnet/client/wait.ts";
import { publishScripts } from "../devnet/demo/actors/publish.ts";
import { playPresent } from "../devnet/demo/present.ts";
import { playRegistrations } from "../devnet/demo/registrations.ts";
import { registerAgents } from "../devnet/demo/registry.ts";
import { HISTORY_MS, playHistory } from "../devnet/demo/scenario.ts";
import { handOver } from "../devnet/demo/sources.ts";
import { playPurchases } from "../devnet/demo/x402/buyer.ts";
import { EvmUnavailable } from "../devnet/evm/node.ts";
import { developmentSecrets } from "../devnet/secrets.ts";
import { type Service, startService } from "../devnet/service.ts";
import { ENDPOINTS, type EndpointCase } from "../test/support/endpoints/all.ts";
import { fetchPatiently, meteredBundle, takeRows } from "./platform/metered-bundle.ts";
import { GROWING, type Growing, ManyRows } from "./support/many-rows.ts";
import type { BenchContext } from "./support/service.ts";
import type { Row } from "./support/table.ts";

/** Reads that are asked for by POST, for the size of their bodies or as clients know them. */
const READS =
  /^\/(registry-diff|registry-entry-search|inbox-agents-.*|.*\/(income|spending|resolve-.*))$/;
/** What reads more as its tables grow, why, and the most rows that it may read; left out: all. */
const GROWS: readonly (readonly [reader: RegExp, why: string, most?: number])[] = [
  [/^GET \/metrics$/, "counts at most 10,000 of each kind", 40_000],
  [/^GET \/(payment|purchase)\/count/, "counts all, from an index"],
  [
    /^GET \/(registry|inbox-agents|registry-inbox|x402\/(payments|settlements))\/count/,
    "counts all",
  ],
  [/^GET \/invoice\/monthly\/missing/, "reads its month"],
  [/^GET \/x402\/totals/, "sums its period"],
  [
    /^GET \/(registry|inbox-agents|registry-inbox|wallet\/transaction|x402\/(payments|settlements))( of one wallet)?$/,
    "looks from the newest on for what fits a filter",
  ],
  [
    /^GET \/(registry|inbox-agents|registry-inbox)\/diff of one wallet$/,
    "looks from its stamp on for records of the key's wallets",
  ],
];
/** How long the service then works on new jobs. */
const WORK_MS = 45_000;
/** A statement may read more where there is more to choose a page from, but not as many times as rows. */
const mayRead = (few: number) => 2 * few + 100;

/** By reader, by statement: the most rows that it read in one go. */
type Readings = Map<string, Record<string, number>>;

export interface GrowthFigures {
  rows: Row[];
  tables: Row[];
  excesses: string[];
}

/**
 * Plays the demo, whose records are real, and copies the finished rows of each table. At each size
 * it requests every list, diff and search with each of its filters. Then the service works on new
 * jobs.
 */
export async function benchGrowth(context: BenchContext): Promise<GrowthFigures> {
  const sizes = context.quick ? [2_000, 10_000] : [2_000, 200_000, 2_000_000];
  const keep = mkdtempSync(join(context.folder, "kept-"));
  const options = {
    variables: developmentSecrets(join(context.folder, ".dev.vars")),
    bundle: meteredBundle(context),
    hasActors: true,
    begins: Date.now() - HISTORY_MS,
    log: () => {},
    keep,
  };
  let service = await startService(options);
  try {
    await playDemo(service, adminOf(service));
    const { token } = await keyOfOneWallet(adminOf(service));
    const tables: Record<string, Row> = {};
    const readings: Readings[] = [];
    const refusals: string[] = [];
    for (const size of sizes) {
      await service.close();
      for (const [table, rows] of filled(join(keep, "worker"), size))
        tables[table] = { ...tables[table], table, [`at ${size}`]: rows };
      service = await startService(options);
      service.goLive();
      await followed(adminOf(service));
      const keys = [adminOf(service), { url: service.url, token }];
      readings.push(await read(service, keys, refusals));
    }
    const { rows, excesses } = compared(sizes, readings);
    return { tables: Object.values(tables), rows, excesses: [...refusals, ...excesses] };
  } finally {
    await service.close();
  }

  function adminOf({ url }: Service): ApiAccess {
    return { url, token: options.variables.ADMIN_KEY };
  }
}

/** What the chain did meanwhile is read. */
async function followed({ url }: ApiAccess): Promise<void> {
  const isReady = async () => (await fetchPatiently(`${url}/api/v1/health/ready`)).ok;
  await until(isReady, { what: "what the chain did meanwhile", everyMs: 1_000 });
}

/** Fills each table, and says with how many rows. */
function filled(folder: string, size: number): [Growing, number][] {
  const many = new ManyRows(folder);
  try {
    return (Object.keys(GROWING) as Growing[]).map((table) => [table, many.fill(table, size)]);
  } finally {
    many.close();
  }
}

/** What `npm start` shows, until its past is read, and what it registers and sells is there. */
async function playDemo(service: Service, admin: ApiAccess): Promise<void> {
  const { chain, agents, x402 } = service;
  publishScripts(chain);
  registerAgents(chain, agents);
  await playHistory(chain);
  chain.moveTo(Date.now());
  service.goLive();
  await handOver(admin);
  const registrations = await playRegistrations({ ...service, ...admin });
  await registrations(new AbortController().signal);
  if (!(x402 instanceof EvmUnavailable)) await playPurchases(admin, x402.node, x402.resource.url);
  await work(service, admin);
}

/** A key that is shown the records of one wallet, which are few among all. */
async function keyOfOneWallet(admin: ApiAccess): Promise<ApiAccess> {
  const { Wallets } = await ask<{ Wallets: { id: string }[] }>(admin, "GET", "/wallet/list");
  const walletLimit = Wallets.slice(0, 1).map(({ id }) => id);
  const body = { permission: "User", canPay: true, walletLimit };
  const { token } = await ask<{ token: string }>(admin, "POST", "/api-key", body);
  return { ...admin, token };
}

/** Everything that requests read, and the service at work. */
async function read(
  service: Service,
  keys: readonly ApiAccess[],
  refusals: string[],
): Promise<Readings> {
  const readings: Readings = new Map();
  await takeRows(service);
  for (const endpoint of ENDPOINTS) {
    const { method, path } = endpoint;
    if (method !== "GET" && !(method === "POST" && READS.test(path))) continue;
    for (const [i, key] of keys.entries()) {
      for (const fields of queriesOf(endpoint)) {
        const refusal = await send(key, endpoint, fields);
        if (refusal !== null) refusals.push(refusal);
      }
      readings.set(
        `${method} ${path}${i > 0 ? " of one wallet" : ""}`,
        (await takeRows(service)).most,
      );
    }
  }
  const [admin] = keys;
  if (admin) await work(service, admin);
  readings.set("crons, queues, objects", (await takeRows(service)).most);
  return readings;
}

/** All fields, none but those that are needed, and each other one beside them. */
function queriesOf({ valid, fields }: EndpointCase): [string, unknown][][] {
  const needed = new Set(fields.flatMap((field) => (field.required ? [field.name] : [])));
  const all = Object.entries(valid);
  const least = all.filter(([name]) => needed.has(name) || name === "network");
  const others = all.filter((one) => !least.includes(one));
  return [all, least, ...others.map((one) => [...least, one])];
}

/** @returns why it was not answered, null if it was */
async function send(
  { url, token }: ApiAccess,
  { method, path }: EndpointCase,
  fields: readonly [string, unknown][],
): Promise<string | null> {
  const isGet = method === "GET";
  const query = new URLSearchParams(fields.map(([name, value]) => [name, String(value)]));
  const response = await fetchPatiently(`${url}/api/v1${path}${isGet ? `?${query}` : ""}`, {
    method,
    headers: { token, ...(!isGet && { "content-type": "application/json" }) },
    ...(!isGet && { body: JSON.stringify(Object.fromEntries(fields)) }),
  });
  const text = await response.text();
  if ([200, 403, 404].includes(response.status)) return null;
  // What looks at all rows may take longer than a request may, and a service that was down is not ready yet.
  const isExpected = path === "/health/ready" || findGrowth(`${method} ${path}`) !== undefined;
  if (response.status === 503 && isExpected) return null;
  return `${method} ${path}?${query}: ${response.status} ${text}`;
}

/** Jobs are bought, delivered and paid, while the cron runs. */
async function work({ agents }: Service, admin: ApiAccess): Promise<void> {
  const end = AbortSignal.timeout(WORK_MS);
  await playPresent(admin, agents, end, () => {}).catch((error: unknown) => {
    if (!end.aborted) throw error;
  });
}

const findGrowth = (reader: string) => GROWS.find(([known]) => known.test(reader));

/** Of each reader the statement that came to read the most rows more, and what no reason is known for. */
function compared(sizes: readonly number[], readings: readonly Readings[]) {
  const rows: Row[] = [];
  const excesses: string[] = [];
  const [few = new Map()] = readings;
  for (const [reader, before] of few) {
    const of = (sql: string) => readings.map((all) => all.get(reader)?.[sql]);
    const most = (sql: string) => Math.max(0, ...of(sql).map((read) => read ?? 0));
    const repeated = Object.keys(before)
      .filter((sql) => of(sql).filter((read) => read !== undefined).length > 1)
      .toSorted((a, b) => most(b) - (before[b] ?? 0) - (most(a) - (before[a] ?? 0)));
    const [sql] = repeated;
    if (sql === undefined) continue;
    const [, grows = null, limit = Number.POSITIVE_INFINITY] = findGrowth(reader) ?? [];
    const shown = of(sql).map((read, i) => [`of ${sizes[i]}`, read ?? "–"]);
    rows.push({
      reader,
      statements: repeated.length,
      ...Object.fromEntries(shown),
      grows: grows ?? "no",
    });
    for (const one of repeated)
      if (most(one) > (grows === null ? mayRead(before[one] ?? 0) : limit))
        excesses.push(`${reader}: rows read of ${sizes}: ${of(one)}: ${one}`);
  }
  return { rows, excesses };
}
