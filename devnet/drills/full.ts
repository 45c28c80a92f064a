/**
 * Fills the database of the running service on the local chain while 50 purchases and 100 polls run, and its
 * archive. Requests fail with `database_full` alone. The alarm arrives. Once the archive has room, the mover makes
 * room in the database. In the end each purchase is locked once.
 *
 *     npm run drill:full
 *
 * D1 lets nobody lower its limit. So triggers refuse each insertion and each update with D1's own message, as long
 * as the database has no fewer escrows. The drill exits with 1 if anything is wrong.
 */
import { randomUUID } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import type { D1Database } from "@cloudflare/workers-types";
import pMap from "p-map";
import { type ApiAccess, ask, askPlainly, Refused } from "../client/api.ts";
import { until } from "../client/wait.ts";
import { publishScripts } from "../demo/actors/publish.ts";
import { HISTORY_MS, playHistory } from "../demo/scenario.ts";
import { type Bought, buyJob } from "../demo/trade.ts";
import { buy, createPayer } from "../demo/x402/buyer.ts";
import { EvmUnavailable } from "../evm/node.ts";
import type { Service } from "../service.ts";
import {
  ARCHIVE_AFTER_MINUTES,
  describeCounts,
  makeChainFinal,
  makeFinalOlder,
  waitForMove,
} from "./archives.ts";
import { locksOnChain, signatureOf } from "./evidence.ts";
import { runDrill } from "./run-drill.ts";
import { openStalls } from "./trader.ts";

const PURCHASES = 50;
const POLLS = 100;
/** Buyers that ask concurrently. */
const BUYERS = 5;
/** Purchases that are stored before the database is full. */
const PURCHASES_BEFORE = 15;
/** How long the database stays full once the alarm has arrived. */
const FULL_MS = 20_000;
const RETRY_MS = 1_000;
const POLL_EVERY_MS = 500;
const LIMIT_MS = 10 * 60_000;
const INBOX = "/alarms";
const FULL_MESSAGE = "Exceeded maximum DB size";

const problems: string[] = [];

function expect(what: string, isSo: boolean, found: unknown): void {
  console.log(`${isSo ? "ok" : "WRONG"}: ${what}${isSo ? "" : ` — ${JSON.stringify(found)}`}`);
  if (!isSo) problems.push(what);
}

/** What the service answered, counted by status and code. */
const answers = new Map<string, number>();

await runDrill(
  {
    hasActors: true,
    begins: Date.now() - HISTORY_MS,
    archiveAfterMinutes: ARCHIVE_AFTER_MINUTES,
    log: () => undefined,
  },
  drill,
);
process.exitCode = problems.length === 0 ? 0 : 1;

async function drill(service: Service, admin: ApiAccess): Promise<void> {
  const { chain, host, receiver } = service;
  publishScripts(chain);
  await playHistory(chain);
  makeChainFinal(chain);
  chain.moveTo(Date.now());
  const locksBefore = locksOnChain(chain).size;
  const stalls = await openStalls(admin, chain, service.agents.url);
  service.goLive();
  const { x402 } = service;
  const isX402Here = !(x402 instanceof EvmUnavailable);
  if (isX402Here) await buy(x402.resource.url, await createPayer(admin, x402.node), "eip3009");
  const Events = ["DATABASE_FULL"];
  await ask(admin, "POST", "/webhooks", { url: `${receiver.url}${INBOX}`, Events });

  const bought: Bought[] = [];
  const orders = Array.from({ length: PURCHASES }, (_, i) => stalls[i % stalls.length]);
  const buyAt = async (stall: (typeof orders)[number]) => {
    if (stall) bought.push(await buyJob(admin, stall, askUntilRoom));
  };
  const buying = pMap(orders, buyAt, { concurrency: BUYERS });
  const polling = pollAll(admin);

  const isPartlyBought = () => bought.length >= PURCHASES_BEFORE;
  await until(isPartlyBought, { what: "the first purchases", limitMs: LIMIT_MS });
  const [archive] = host.archiveD1s;
  if (!archive) throw new Error("no archive is bound");
  await fill(archive, "TRUE");
  await makeFinalOlder(host.d1);
  const stored = await host.d1.prepare("SELECT count(*) AS n FROM escrow").first<number>("n");
  await fill(host.d1, `(SELECT count(*) FROM escrow) >= ${stored}`);
  console.log(`the database is full after ${bought.length} purchases`);
  const alarms = () => receiver.arrivals(INBOX).map(({ body }) => JSON.parse(body).type);
  const isTold = await until(() => alarms().length > 0, { what: "the alarm", limitMs: LIMIT_MS })
    .then(() => true)
    .catch(() => false);
  expect("the alarm arrives while the database is full", isTold, alarms());
  const reasons = await readReasons(admin);
  expect("the health says so", reasons.includes("DATABASE_FULL"), reasons);
  await pause(FULL_MS);
  const boughtBefore = bought.length;
  await makeRoom(archive);
  const kinds = isX402Here ? 3 : 2;
  const archived = await waitForMove(host.d1, kinds);
  expect(
    `the full database moves final records of ${kinds} kinds to an archive with room`,
    archived.size === kinds,
    describeCounts(archived),
  );
  const isBuying = () => bought.length > boughtBefore || bought.length === PURCHASES;
  await until(isBuying, { what: "purchases in the room that the move made", limitMs: LIMIT_MS });
  await makeRoom(host.d1);
  console.log(
    `there is room again: ${describeCounts(archived)} moved, ${bought.length} purchases until now`,
  );

  await Promise.all([buying, polling]);
  const open = "SELECT count(*) AS n FROM escrow WHERE intent IS NOT NULL";
  const isDone = async () => (await host.d1.prepare(open).first<number>("n")) === 0;
  await until(isDone, { what: "no open intent", everyMs: 2_000, limitMs: LIMIT_MS });
  const locks = locksOnChain(chain);
  const counts = bought.map((one) => locks.get(signatureOf(one.blockchainIdentifier)) ?? 0);
  expect(
    `each of ${bought.length} purchases is locked once`,
    bought.length === PURCHASES && counts.every((n) => n === 1),
    counts,
  );
  expect("the chain has no other lock", locks.size === locksBefore + PURCHASES, locks.size);
  console.log(`answers: ${[...answers].map(([answer, n]) => `${n} × ${answer}`).join(", ")}`);
  const wrong = [...answers].filter(([answer]) => !/^(200|503 database_full)$/.test(answer));
  expect("no answer is another than 200 or 503 database_full", wrong.length === 0, wrong);
  expect("writes were refused", (answers.get("503 database_full") ?? 0) > 0, [...answers]);
  const isWell = async () => !(await readReasons(admin)).includes("DATABASE_FULL");
  await until(isWell, { what: "the end of the incident", everyMs: 1_000, limitMs: LIMIT_MS });
  const ids = new Set(receiver.arrivals(INBOX).map(({ body }) => JSON.parse(body).id));
  expect("the alarm has one id", ids.size === 1, [...ids]);
}

/** Asks until the database takes the request, as docs/errors.md says: with the same key. */
async function askUntilRoom<Data>(
  access: ApiAccess,
  method: "POST",
  path: string,
  body: object,
): Promise<Data> {
  const headers = { "idempotency-key": randomUUID() };
  for (;;) {
    try {
      const data = await askPlainly<Data>(access, method, path, body, headers);
      count("200");
      return data;
    } catch (error) {
      if (!count(toAnswer(error))) throw error;
      await pause(RETRY_MS);
    }
  }
}

async function pollAll(admin: ApiAccess): Promise<void> {
  for (let polls = 0; polls < POLLS; polls++) {
    const side = polls % 2 === 0 ? "payment" : "purchase";
    const path = `/${side}/diff?network=Preprod&lastUpdate=1970-01-01T00:00:00Z`;
    const answer = await ask(admin, "GET", path).then(() => "200", toAnswer);
    count(answer === "200" ? answer : `GET ${answer}`);
    await pause(POLL_EVERY_MS);
  }
}

/** @returns whether to ask again */
function count(answer: string): boolean {
  answers.set(answer, (answers.get(answer) ?? 0) + 1);
  return answer === "503 database_full";
}

function toAnswer(error: unknown): string {
  if (!(error instanceof Refused)) throw error;
  const code = /"code":"(\w+)"/.exec(error.message)?.[1] ?? error.message;
  return `${error.status} ${code}`;
}

async function readReasons(admin: ApiAccess): Promise<string[]> {
  const { reasons } = await ask<{ reasons: { kind: string }[] }>(admin, "GET", "/health");
  return reasons.map(({ kind }) => kind);
}

/** Has a database refuse what needs room. @param condition - SQL: whether there is none */
async function fill(d1: D1Database, condition: string): Promise<void> {
  const tables = await listTables(d1);
  await d1.batch(
    tables.flatMap((table) =>
      ["INSERT", "UPDATE"].map((event) =>
        d1.prepare(
          `CREATE TRIGGER "full_${event}_${table}" BEFORE ${event} ON "${table}" WHEN ${condition}
           BEGIN SELECT RAISE(ABORT, '${FULL_MESSAGE}'); END`,
        ),
      ),
    ),
  );
}

async function makeRoom(d1: D1Database): Promise<void> {
  const tables = await listTables(d1);
  await d1.batch(
    tables.flatMap((table) =>
      ["INSERT", "UPDATE"].map((event) => d1.prepare(`DROP TRIGGER "full_${event}_${table}"`)),
    ),
  );
}

/** The few rows about archives always fit their page. */
async function listTables(d1: D1Database): Promise<string[]> {
  const { results } = await d1
    .prepare("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT GLOB '*_cf_*'")
    .all<{ name: string }>();
  return results
    .map(({ name }) => name)
    .filter((name) => !name.startsWith("sqlite_") && name !== "archive_range");
}
