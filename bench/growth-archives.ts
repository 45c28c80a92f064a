/** What moving final records to archives takes, and what pages of escrows read then. */
import { mkdtempSync } from "node:fs";
import { join } from "node:path";
import { Refused } from "../devnet/client/api.ts";
import type { Database } from "../src/db/client.ts";
import { openDb } from "../src/db/client.ts";
import type { Side } from "../src/escrow/model/escrow-record.ts";
import { readDiffPage, readDiffVersion } from "../src/escrow/queries/diff-page.ts";
import { readListPage } from "../src/escrow/queries/list-page.ts";
import type { PageEnv } from "../src/escrow/queries/page-rows.ts";
import { countingD1 } from "../test/support/d1.ts";
import { meteredBundle, takeInvocations } from "./platform/metered-bundle.ts";
import { makeFinalAudit, makeFinalPayments } from "./support/final-payments.ts";
import { makeFinalRecords } from "./support/final-records.ts";
import { DIFFS, type DiffData } from "./support/pages.ts";
import { CONTRACTS } from "./support/records.ts";
import {
  type BenchContext,
  type BenchService,
  call,
  startBenchService,
} from "./support/service.ts";
import type { Row } from "./support/table.ts";

const ARCHIVES = 4;
/** Of `DATABASE_MAX_BYTES` for each record, so that most archives are filled. */
const BYTES_PER_RECORD = 1_500;
/** Runs of the cron in a row that move nothing: another one goes on. */
const MAX_IDLE_RUNS = 3;
/** Of a page that a busy database refuses. */
const MAX_ATTEMPTS = 5;
const PAGE_LIMITS = [10, 100] as const;
const CLIENT_LIMIT = 100;
const SIDES = ["payment", "purchase"] as const;
/** Of an archive: each record of the page and one more, and the archive's last copy. */
const allowedOf = (limit: number) => limit + 2;

export interface ArchiveFigures {
  /** Time and rows of moving, and of a client that reads all from 1970 on. */
  work: Row[];
  /** The most rows that a page read, by database. */
  pages: Row[];
  excesses: string[];
}

/** Makes and moves final escrows, of which archives get a part each, and pages through them. */
export async function benchArchives(context: BenchContext): Promise<ArchiveFigures> {
  const perSide = context.quick ? 500 : 100_000;
  const folder = mkdtempSync(join(context.folder, "archived-"));
  const begun = performance.now();
  await makeFinalRecords(context, folder, perSide);
  const creation = { what: "make", seconds: secondsSince(begun) };
  const bindings = {
    ARCHIVE_AFTER_MINUTES: "1",
    DATABASE_MAX_BYTES: String(Math.max(perSide * 2 * BYTES_PER_RECORD, 2_500_000)),
    SYNC_EVERY_SECONDS: "0",
  };
  const metered = { ...context, bundle: meteredBundle(context) };
  const service = await startBenchService(metered, bindings, folder, ARCHIVES);
  try {
    const newest = await readNewestStamp(service);
    const before = await countPage(service, "caught up", readCaughtUp(newest));
    const work: Row[] = [creation, await moveAll(service, "escrow", perSide * 2)];
    for (const side of SIDES) work.push(await pageThrough(service, side, perSide));
    const { pages, excesses } = await countPages(service, newest, before);
    const others = context.quick ? 200 : 2_000;
    await makeFinalPayments(service.host.d1, others);
    const payments = await moveAll(service, "x402_payment_attempt", others);
    await makeFinalAudit(service.host.d1, others);
    const audit = await moveAll(service, "audit", others);
    return {
      work: [
        ...work.map((row) => ({ records: perSide * 2, ...row })),
        ...[payments, audit].map((row) => ({ records: others, ...row })),
      ],
      pages,
      excesses,
    };
  } finally {
    await service.host.close();
  }
}

const secondsSince = (begun: number) => (performance.now() - begun) / 1000;

async function readNewestStamp({ host }: BenchService): Promise<number> {
  const newest = await host.d1.prepare("SELECT max(changed_at) AS at FROM escrow").first("at");
  return Number(newest);
}

/** Runs the cron until a table of the database is empty. */
async function moveAll(service: BenchService, table: string, records: number): Promise<Row> {
  const { host } = service;
  const left = host.d1.prepare(`SELECT count(*) AS n FROM ${table}`);
  await takeInvocations(service);
  const [begun, cpuBegun] = [performance.now(), service.cpuMs()];
  let idleRuns = 0;
  for (let before = records; before > 0; ) {
    // A connection may be closed while the Worker works; its run goes on.
    await host.scheduled().catch((error: unknown) => console.log(`a run of the cron: ${error}`));
    const now = Number(await left.first("n"));
    idleRuns = now < before ? 0 : idleRuns + 1;
    if (idleRuns > MAX_IDLE_RUNS) throw new Error(`${now} rows of ${table} do not move`);
    before = now;
  }
  const invocations = (await takeInvocations(service)).filter(({ kind }) => kind === "cron");
  const perRecord = (count: "rows read" | "rows written" | "D1 calls") =>
    invocations.reduce((sum, { counts }) => sum + counts[count], 0) / records;
  return {
    what: `move each ${table}`,
    seconds: secondsSince(begun),
    "runs of the cron": invocations.length,
    "rows read each": perRecord("rows read"),
    "rows written each": perRecord("rows written"),
    "D1 calls each": perRecord("D1 calls"),
    "CPU ms each": (service.cpuMs() - cpuBegun) / records,
  };
}

/** Asks again as clients do while the database is busy, such as with what the moves have left. */
async function askPatiently(service: BenchService, path: string): Promise<DiffData> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await call<DiffData>(service, path);
    } catch (error) {
      const isBusy = error instanceof Refused && error.status === 503;
      if (!isBusy || attempt === MAX_ATTEMPTS) throw error;
      console.log(`asked again: ${path}`);
    }
  }
}

/** A client that reads all changes of a side from 1970 on. @throws Error when one comes twice, late or never */
async function pageThrough(service: BenchService, side: Side, expected: number): Promise<Row> {
  const { path, list } = DIFFS[side];
  const query = new URLSearchParams({
    network: "Preprod",
    limit: String(CLIENT_LIMIT),
    lastUpdate: new Date(0).toISOString(),
  });
  await takeInvocations(service);
  const begun = performance.now();
  const seen = new Set<string>();
  let last = "";
  let pages = 0;
  for (;;) {
    pages++;
    const records = (await askPatiently(service, `${path}?${query}`))[list] ?? [];
    const fresh = records.filter(({ id }) => id !== query.get("cursorId"));
    if (fresh.length === 0) break;
    for (const { id, onChainStateOrResultLastChangedAt: stamp } of fresh) {
      if (seen.has(id)) throw new Error(`${id} comes twice`);
      if (stamp < last) throw new Error(`${id} comes late`);
      seen.add(id);
      last = stamp;
    }
    query.set("cursorId", fresh.at(-1)?.id ?? "");
    query.set("lastUpdate", last);
  }
  if (seen.size !== expected) throw new Error(`${seen.size} of ${expected} ${side} records came`);
  const seconds = secondsSince(begun);
  const read = (await takeInvocations(service)).reduce(
    (sum, { counts }) => sum + counts["rows read"],
    0,
  );
  return {
    what: `read each ${side} once, in order`,
    seconds,
    pages,
    "ms a page": (seconds * 1000) / pages,
    "rows read each": read / expected,
  };
}

/** Reads a page of a database with archives. */
type ReadPage = (db: Database, env: PageEnv) => Promise<unknown>;

function readChanges(
  stamp: number,
  limit: number,
  filter: { filterSmartContractAddress?: string } = {},
  read: typeof readDiffPage | typeof readDiffVersion = readDiffPage,
): ReadPage {
  return (db, env) =>
    read(db, "payment", "chain_changed_at", {
      ...{ network: "Preprod", limit, lastUpdate: stamp, includeHistory: false, env },
      ...filter,
    });
}

const readCaughtUp = (newest: number) => readChanges(newest, PAGE_LIMITS[0]);

const readNewest =
  (limit: number): ReadPage =>
  (db, env) =>
    readListPage(db, "payment", { network: "Preprod", limit, includeHistory: false, env });

interface PageRows {
  page: string;
  hot: number;
  archives: number[];
}

/** The rows that a page reads of each database. */
async function countPage(service: BenchService, page: string, read: ReadPage): Promise<PageRows> {
  const { d1, archiveD1s } = service.host;
  const hot = countingD1(d1);
  const archives = archiveD1s.map(countingD1);
  const env: PageEnv = Object.fromEntries(archives.map((one, i) => [`ARCHIVE_${i + 1}`, one.d1]));
  await read(openDb({ DB: hot.d1 }, "Preprod", { reads: "replica" }), env);
  return { page, hot: hot.rowsRead(), archives: archives.map((one) => one.rowsRead()) };
}

async function countPages(
  service: BenchService,
  newest: number,
  caughtUp: PageRows,
): Promise<Pick<ArchiveFigures, "pages" | "excesses">> {
  const { results: ranges } = await service.host.d1
    .prepare(
      `SELECT archive, least_chain_changed_at AS least, greatest_chain_changed_at AS greatest
       FROM archive_range WHERE kind = 'escrow' ORDER BY archive`,
    )
    .all<{ archive: number; least: number; greatest: number }>();
  const excesses: string[] = [];
  const pages: PageRows[] = [{ ...caughtUp, page: "caught up, before the first move" }];
  const check = async (page: string, read: ReadPage, most: number, overlapping: number[]) => {
    const rows = await countPage(service, page, read);
    pages.push(rows);
    for (const [i, count] of rows.archives.entries()) {
      const allowed = overlapping.includes(i + 1) ? most : 0;
      if (count > allowed)
        excesses.push(`${page}: ${count} rows read of ARCHIVE_${i + 1}, at most ${allowed}`);
    }
    return rows;
  };
  const after = await check("caught up", readCaughtUp(newest), 0, []);
  if (after.hot > caughtUp.hot)
    excesses.push(`caught up: ${after.hot} rows read, ${caughtUp.hot} before`);
  const all = ranges.map(({ archive }) => archive);
  for (const size of PAGE_LIMITS) {
    const most = allowedOf(size);
    await check(`from 1970, ${size}`, readChanges(0, size), most, [1]);
    for (const [i, { archive, least, greatest }] of ranges.entries()) {
      const middle = Math.floor((least + greatest) / 2);
      const page = `middle of ARCHIVE_${archive}, ${size}`;
      await check(page, readChanges(middle, size), most, [archive]);
      const version = readChanges(middle, size, {}, readDiffVersion);
      await check(`${page}, If-None-Match`, version, most, [archive]);
      const next = ranges[i + 1];
      if (!next) continue;
      const border = `end of ARCHIVE_${archive}, ${size}`;
      await check(border, readChanges(greatest, size), most, [archive, next.archive]);
      const filter = { filterSmartContractAddress: CONTRACTS.rare.contractAddress };
      await check(`${border}, rare contract`, readChanges(greatest, size, filter), most, all);
    }
    await check(`list, ${size}`, readNewest(size), most, all);
  }
  return {
    pages: pages.map(({ page, hot, archives }) => ({
      page,
      database: hot,
      ...Object.fromEntries(archives.map((rows, i) => [`ARCHIVE_${i + 1}`, rows])),
    })),
    excesses,
  };
}
