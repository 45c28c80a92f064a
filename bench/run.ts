/**
 * Builds the Worker and measures it in workerd; see docs/benchmarks.md.
 *
 *     npm run bench -- [startup] [deploy] [console] [diff] [paging] [lists] [rows] [growth]
 *         [archives] [storage] [sync] [worker-bots] [invoices] [wallets] [purchases] [steps] [x402] [platform]
 *
 *     npm run bench -- platform [--quick] [--json PATH] [--d1-ms N] [--connections N]
 *     npm run bench -- pairs BASE PART… [--pairs N] [--d1-ms N] [--folder PATH]
 *
 * `npm run bench` without a name runs all parts. An answer other than 2xx or a failed connection
 * ends the run with exit code 1. A figure beyond its limit has the same exit code once all parts
 * have run. Two options concern the parts purchases, webhooks, x402 and platform. With `--d1-ms`, each
 * database call takes so much longer. With `--connections`, an invocation has so many connections.
 *
 * `pairs` compares the commit `HEAD` with another one, in quick runs of parts that take turns. Another call goes on
 * where one stopped.
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { cpus, loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { buildWorker } from "../devnet/build.ts";
import { benchConsole } from "./console.ts";
import { benchDeployments } from "./deploy.ts";
import { benchDiffs } from "./diff.ts";
import { benchGrowth } from "./growth.ts";
import { benchArchives } from "./growth-archives.ts";
import { benchInvoices } from "./invoices.ts";
import { benchLists } from "./lists.ts";
import { benchPaging } from "./paging.ts";
import { runPairs } from "./pairs/run-pairs.ts";
import { benchPlatform } from "./platform/platform.ts";
import { benchPurchases } from "./purchases.ts";
import { benchRegistration } from "./registration.ts";
import { benchRegistry } from "./registry.ts";
import { measureStartup, STARTUP_LIMIT_MS } from "./startup.ts";
import { benchSteps } from "./steps.ts";
import { benchStorage } from "./storage.ts";
import { Limits } from "./support/limits.ts";
import { watchOthers } from "./support/others.ts";
import { loadRecords } from "./support/records.ts";
import { benchRowsRead } from "./support/rows.ts";
import { type BenchContext, startBenchService } from "./support/service.ts";
import { formatTable, type Row } from "./support/table.ts";
import { benchSync } from "./sync.ts";
import { benchWallets } from "./wallets.ts";
import { benchWebhooks } from "./webhooks.ts";
import { benchWorkerBots } from "./worker-bots.ts";
import { benchX402 } from "./x402/x402.ts";

const PARTS = [
  "startup",
  "deploy",
  "console",
  "diff",
  "paging",
  "lists",
  "rows",
  "growth",
  "archives",
  "storage",
  "sync",
  "worker-bots",
  "invoices",
  "registry",
  "registration",
  "wallets",
  "purchases",
  "steps",
  "webhooks",
  "x402",
  "platform",
] as const;
type Part = (typeof PARTS)[number];

/** The tables that are printed. */
const TITLES = {
  startup: "Start-up, CPU ms",
  deploy: "What a deployment uploads, without source maps",
  console: "The console's first view, ms from the navigation, nothing cached",
  diff: "Diff pages, 16 connections, median of three rounds",
  paging: "Paging through all changed payments",
  lists: "Lists beside the diffs, 16 connections, median of three rounds",
  rows: "Most D1 rows read by a diff page: limit of records",
  growth: "Most D1 rows that any statement read, by reader and the size of tables",
  growthTables: "Rows of the tables that grow",
  archives: "Final records that move to archives, and clients that read all escrows from 1970 on",
  archivePages: "D1 rows that a page reads of each database, once archives have all",
  storage: "Bytes of the database per record, by what it is stored for",
  storageParts: "Bytes of the database per record, by table, index and column",
  storageObjects: "Bytes of the objects of each service",
  storageCapacity: "How much 10 GB hold, and for how long",
  sync: "Chain sync",
  calls: "Provider calls of the chain sync",
  registry: "Registry, 16 connections",
  health: "Health checks of all agents",
  registration: "From the request to the signed transaction",
  wallets: "Many tasks of one wallet; fees in minor units",
  steps: "Results of one seller's wallet, from the request to the chain",
  stepCalls: "Provider calls of results, by path",
  purchases: "From POST /purchase to the locked escrow",
  workerBots: "Migration of worker bots",
  webhooks: "Events, from their commit to every receiver",
  webhookNeighbours: "Events of one endpoint beside a slow receiver of another",
  webhookMatches: "Events that each match one of a thousand endpoints",
  webhookWrites: "D1 rows written for events that come one by one, purge included",
  x402: "x402 settlements by one wallet; CPU, calls and requests per payment",
  x402Writes: "D1 rows written for settlements that come one by one, purge included",
  platform: "Each kind of invocation, medians",
  platformUnits: "What a unit of work takes in all its invocations",
  platformPrices: "Dollars a month",
  invoices: "Making one invoice",
};
type Table = keyof typeof TITLES;

const { values: flags, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    quick: { type: "boolean" },
    json: { type: "string" },
    "d1-ms": { type: "string", default: "0" },
    connections: { type: "string" },
    pairs: { type: "string", default: "7" },
    folder: { type: "string", default: join(tmpdir(), "bench-pairs") },
  },
});
if (positionals[0] === "pairs") {
  const [, base, ...parts] = positionals;
  if (base === undefined || parts.length === 0) throw new Error("pairs: name a commit and parts");
  const platform = flags["d1-ms"] === "0" ? [] : ["--d1-ms", flags["d1-ms"]];
  runPairs(base, { parts, count: Number(flags.pairs) }, platform, flags.folder);
  process.exit();
}
const unknown = positionals.filter((name) => !PARTS.some((part) => part === name));
if (unknown.length > 0) throw new Error(`no such part: ${unknown.join(", ")}`);
const isWanted = (part: Part) => positionals.length === 0 || positionals.includes(part);

const results: Partial<Record<Table, Row[]>> = {};
function report(table: Table, rows: Row[]): void {
  results[table] = rows;
  console.log(formatTable(TITLES[table], rows));
}

const others = watchOthers();
const loads: Record<string, number> = {};

/** Measures a part if any of these is wanted, and says what else ran meanwhile. */
async function part(
  { limits }: BenchContext,
  names: readonly Part[],
  measure: () => Promise<void>,
): Promise<void> {
  if (!names.some(isWanted)) return;
  others.load();
  await measure();
  const name = names.join(" ");
  loads[name] = others.load();
  console.log(limits.endPart(name, loads[name]));
}

async function run(context: BenchContext): Promise<void> {
  const { limits } = context;
  await part(context, ["startup"], async () => {
    const startup = await measureStartup(context.bundle);
    report("startup", [{ ...startup, limit: STARTUP_LIMIT_MS }]);
    limits.timed(startup.difference > STARTUP_LIMIT_MS ? "start-up is above its limit" : null);
  });
  await part(context, ["deploy"], async () => report("deploy", await benchDeployments(context)));
  await part(context, ["console"], async () => {
    const times = await benchConsole(context);
    if (times === null) console.log("\nno Chromium: the console's first view is not measured");
    else report("console", times.rows);
    for (const excess of times?.excesses ?? []) limits.timed(excess);
  });
  await part(context, ["diff", "paging"], () => runReads(context));
  await part(context, ["lists"], async () => report("lists", await benchLists(context)));
  await part(context, ["rows"], async () => {
    const { rows, excesses } = await benchRowsRead(context);
    report("rows", rows);
    for (const excess of excesses) limits.counted(excess);
  });
  await part(context, ["growth"], async () => {
    const { rows, tables, excesses } = await benchGrowth(context);
    report("growthTables", tables);
    report("growth", rows);
    for (const excess of excesses) limits.counted(excess);
  });
  await part(context, ["growth", "archives"], async () => {
    const { work, pages, excesses } = await benchArchives(context);
    report("archives", work);
    report("archivePages", pages);
    for (const excess of excesses) limits.counted(excess);
  });
  await part(context, ["storage"], async () => {
    const { rows, parts, objects, capacity, excesses } = await benchStorage(context);
    report("storage", rows);
    report("storageParts", parts);
    report("storageObjects", objects);
    report("storageCapacity", capacity);
    for (const excess of excesses) limits.counted(excess);
  });
  await part(context, ["sync"], async () => {
    const { rows, calls } = await benchSync(context);
    report("sync", rows);
    report("calls", calls);
  });
  await part(context, ["registry"], async () => {
    const { reads, health } = await benchRegistry(context);
    report("registry", reads);
    report("health", health);
  });
  await part(context, ["registration"], async () =>
    report("registration", await benchRegistration(context)),
  );
  await part(context, ["wallets"], async () => report("wallets", await benchWallets(context)));
  await part(context, ["purchases"], async () =>
    report("purchases", await benchPurchases(context)),
  );
  await part(context, ["steps"], async () => {
    const { rows, calls } = await benchSteps(context);
    report("steps", rows);
    report("stepCalls", calls);
  });
  await part(context, ["webhooks"], async () => {
    const { rows, writes, neighbours, matches, excesses } = await benchWebhooks(context);
    report("webhooks", rows);
    report("webhookNeighbours", neighbours);
    report("webhookMatches", matches);
    report("webhookWrites", writes);
    for (const excess of excesses) limits.counted(excess);
  });
  await part(context, ["x402"], async () => {
    const { rows, writes } = await benchX402(context);
    report("x402", rows);
    report("x402Writes", writes);
  });
  await part(context, ["platform"], async () => {
    const { invocations, units, prices, excesses } = await benchPlatform(context);
    report("platform", invocations);
    report("platformUnits", units);
    report("platformPrices", prices);
    for (const excess of excesses) limits.counted(excess);
  });
  await part(context, ["worker-bots"], async () =>
    report("workerBots", await benchWorkerBots(context)),
  );
  await part(context, ["invoices"], async () => report("invoices", await benchInvoices(context)));
}

/** The parts that read the same records. */
async function runReads(context: BenchContext): Promise<void> {
  const perSide = context.quick ? 500 : 10_000;
  const service = await startBenchService(context);
  try {
    const begun = performance.now();
    await loadRecords(service.host.d1, perSide);
    const seconds = ((performance.now() - begun) / 1000).toFixed(0);
    console.log(`\nloaded ${perSide} payments and ${perSide} purchases in ${seconds} s`);
    if (isWanted("diff")) report("diff", await benchDiffs(service, context.quick));
    if (isWanted("paging")) report("paging", await benchPaging(service, perSide));
  } finally {
    await service.host.close();
  }
}

const folder = mkdtempSync(join(tmpdir(), "bench-"));
try {
  const { path: bundle } = await buildWorker(folder);
  const [cpu] = cpus();
  const [load = 0] = loadavg();
  const machine = `${cpus().length} × ${cpu?.model ?? "unknown CPU"}, Node ${process.version}`;
  const quick = flags.quick ?? false;
  console.log(`${machine}, load average ${load}${quick ? ", quick: the figures say nothing" : ""}`);
  const limits = new Limits();
  const { connections } = flags;
  const platform = {
    d1Ms: Number(flags["d1-ms"]),
    connections: connections === undefined ? null : Number(connections),
  };
  await run({ bundle, folder, quick, limits, platform });
  if (flags.json !== undefined) {
    const measured = {
      at: new Date().toISOString(),
      machine,
      load,
      loads,
      quick,
      platform,
      results,
    };
    writeFileSync(flags.json, `${JSON.stringify(measured, null, 2)}\n`);
  }
  limits.end();
} finally {
  others.stop();
  rmSync(folder, { recursive: true, force: true });
}
