/**
 * The restore drill of docs/restoring.md, on the local chain. While wallets trade, it sets the
 * database of the running service back. In the end no payment happened twice, and the records agree
 * with the chain.
 *
 *     node devnet/drills/restore.ts [--minutes=60]
 *
 * The drill prints its progress, and exits with 1 if anything disagrees. The wallets' halt takes
 * eight minutes more than the given ones.
 */
import { setTimeout as pause } from "node:timers/promises";
import { parseArgs } from "node:util";
import { type ApiAccess, ask, Refused } from "../client/api.ts";
import { until } from "../client/wait.ts";
import { publishScripts } from "../demo/actors/publish.ts";
import { registerAgents } from "../demo/registry.ts";
import { HISTORY_MS, playHistory } from "../demo/scenario.ts";
import { askStep, type Bought, buyJob } from "../demo/trade.ts";
import { buy, createPayer, type Purchase } from "../demo/x402/buyer.ts";
import { PAYEE } from "../demo/x402/resource.ts";
import { dollarsOf } from "../evm/money.ts";
import { EvmUnavailable } from "../evm/node.ts";
import type { Service, X402Scene } from "../service.ts";
import {
  ARCHIVE_AFTER_MINUTES,
  countArchived,
  describeCounts,
  makeChainFinal,
  makeFinalOlder,
  waitForMove,
} from "./archives.ts";
import { saveDatabase } from "./database.ts";
import { differences, factsOf, heldAt, locksOnChain, signatureOf, tokensAt } from "./evidence.ts";
import { followAnew } from "./follow-anew.ts";
import { runDrill } from "./run-drill.ts";
import { openStalls, register, type Stall, type Transferred, transfer } from "./trader.ts";

const MINUTE_MS = 60_000;
/** How often each stall buys and pays something. */
const TRADE_EVERY_MS = 60_000;
/** The halt of docs/restoring.md, and time to catch up. */
const RECOVERED_MS = 15 * MINUTE_MS;
/** Wallets that are halted lock a purchase only after the halt. */
const HALT_MINUTES = 10;
const CALM_MS = 3 * MINUTE_MS;

/** The newest x402 payments, and changes made through the API. */
const OTHERS = ["/x402/payments?take=100", "/audit?limit=100"];
/** Intents and pending transactions, with the reason of their tasks; later automatic refunds do not count. */
const OPEN = `SELECT open.*, task.reason FROM (
    SELECT id, side || ' ' || on_chain_state AS what FROM escrow WHERE intent IS NOT NULL
    UNION ALL SELECT id, 'transfer ' || state FROM transfer WHERE state IN ('Pending', 'Sent')
    UNION ALL SELECT id, 'registration ' || state FROM registration
      WHERE state GLOB '*Requested' OR state GLOB '*Initiated') AS open
  LEFT JOIN wallet_task AS task ON task.subject_id = open.id`;

const { values } = parseArgs({ options: { minutes: { type: "string", default: "60" } } });
const minutes = Number(values.minutes);
if (!(minutes > 0)) throw new RangeError("--minutes: must be a number above 0");

const began = Date.now();
const problems: string[] = [];

function say(text: string): void {
  const seconds = Math.round((Date.now() - began) / 1000);
  console.log(
    `${String(Math.floor(seconds / 60)).padStart(3)}:${String(seconds % 60).padStart(2, "0")}  ${text}`,
  );
}

function expect(what: string, isSo: boolean, found: unknown): void {
  say(`${isSo ? "ok" : "WRONG"}: ${what}${isSo ? "" : ` — ${found}`}`);
  if (!isSo) problems.push(what);
}

/** What was asked for in the whole drill. */
interface Books {
  bought: Bought[];
  delivered: Set<Bought>;
  transferred: Transferred[];
  /** Agents by the address that holds their tokens. */
  agents: Map<string, number>;
}

const lines: string[] = [];
const options = {
  hasActors: true,
  begins: Date.now() - HISTORY_MS,
  archiveAfterMinutes: ARCHIVE_AFTER_MINUTES,
  log: (line: string) => lines.push(line),
};
await runDrill(options, (...scene) =>
  drill(...scene).catch((error: unknown) => {
    for (const line of lines.filter((one) => one.includes('"request.failed"'))) console.log(line);
    throw error;
  }),
);
say(problems.length === 0 ? "the drill went well" : `${problems.length} things are wrong`);
process.exitCode = problems.length === 0 ? 0 : 1;

async function drill(service: Service, admin: ApiAccess, folder: string): Promise<void> {
  const { chain, host } = service;
  publishScripts(chain);
  registerAgents(chain, service.agents);
  await playHistory(chain);
  makeChainFinal(chain);
  chain.moveTo(Date.now());
  const stalls = await openStalls(admin, chain, service.agents.url);
  service.goLive();
  const x402 = service.x402 instanceof EvmUnavailable ? null : service.x402;
  const payer = x402 && (await createPayer(admin, x402.node));
  const books: Books = {
    bought: [],
    delivered: new Set(),
    transferred: [],
    agents: new Map(stalls.map(({ seller }) => [seller.address, 1])),
  };
  await trade(admin, stalls, books);
  if (x402 && payer) await buy(x402.resource.url, payer, "eip3009");
  await calm(service);
  say("wallets trade");

  // Half done when the bookmark is made, and done in the time that the restore removes.
  await trade(admin, stalls, books);
  for (const { seller } of stalls) await addAgent(admin, service, seller, books);
  const restore = await saveDatabase(host.d1);
  const [archive] = host.archiveD1s;
  if (!archive) throw new Error("no archive is bound");
  const emptyArchive = await saveDatabase(archive);
  say("the database is kept");
  await makeFinalOlder(host.d1);
  const kinds = x402 ? 3 : 2;
  say(`${describeCounts(await waitForMove(host.d1, kinds))} moved to the archive since`);

  let paid: Purchase | null = null;
  if (x402 && payer) paid = await buy(x402.resource.url, payer, "eip3009");
  const end = Date.now() + minutes * MINUTE_MS;
  while (Date.now() < end) {
    await trade(admin, stalls, books);
    await pause(Math.min(TRADE_EVERY_MS, Math.max(0, end - Date.now())));
  }
  await calm(service);
  const before = await factsOf(admin);
  say(
    `${books.delivered.size} of ${books.bought.length} purchases delivered, ${books.transferred.length} transfers, ${before.size} records`,
  );

  await restore();
  const restoredAt = Date.now();
  const logged = lines.length;
  say(`the database is set back by ${minutes} minutes: ${(await factsOf(admin)).size} records`);
  const archived = await countArchived(host.d1);
  expect(
    "the database counts no copy in the archive",
    archived.size === 0,
    describeCounts(archived),
  );
  if (x402 && paid) {
    const { isSame, found } = await replay(x402, paid);
    expect("an x402 payment that is sent again is not settled again", isSame, found);
    const { Settlements } = await ask<{ Settlements: object[] }>(admin, "GET", "/x402/settlements");
    say(`the database knows ${Settlements.length} x402 settlements`);
  }
  await askAgain(admin, books);
  await trade(admin, stalls, books, HALT_MINUTES);

  await calm(service, RECOVERED_MS);
  await deliverJobs(admin, books);
  await calm(service);
  const halted = lines.slice(logged).filter((line) => line.includes('"wallet.halted"')).length;
  say(`all is done again after ${Math.round((Date.now() - restoredAt) / 1000)} s`);
  expect("the wallets noticed, and stopped", halted > 0, "no wallet.halted in the log");
  check(service, books);
  await makeFinalOlder(host.d1);
  say(`${describeCounts(await waitForMove(host.d1, kinds))} are in the archive again`);
  await compare(service, admin, stalls, folder);
  await setArchiveBack(admin, archive, emptyArchive);
}

/** The archive alone is set back, and then put forward again. */
async function setArchiveBack(
  admin: ApiAccess,
  archive: Service["host"]["archiveD1s"][number],
  empty: () => Promise<void>,
): Promise<void> {
  const before = await factsOf(admin);
  const othersBefore = await readOthers(admin);
  const putForward = await saveDatabase(archive);
  await empty();
  const refusals = await Promise.all(
    [factsOf(admin), ...OTHERS.map((path) => ask(admin, "GET", path))].map((read) =>
      read.then(() => "no refusal", String),
    ),
  );
  expect(
    "reads that need the archive are refused",
    refusals.every((one) => one.includes("archive_behind")),
    refusals.join("\n"),
  );
  const isTold = async () => (await readReasons(admin)).includes("ARCHIVE_BEHIND");
  await until(isTold, { what: "ARCHIVE_BEHIND", everyMs: 1_000, limitMs: CALM_MS });
  await putForward();
  const isOver = async () => !(await readReasons(admin)).includes("ARCHIVE_BEHIND");
  await until(isOver, { what: "the end of ARCHIVE_BEHIND", everyMs: 1_000, limitMs: CALM_MS });
  const found = differences(await factsOf(admin), before);
  expect(`all ${before.size} records are shown again`, found.length === 0, found.join("\n"));
  const others = await readOthers(admin);
  expect("so are x402 payments and the audit log", others === othersBefore, others);
}

async function readOthers(admin: ApiAccess): Promise<string> {
  return JSON.stringify(await Promise.all(OTHERS.map((path) => ask(admin, "GET", path))));
}

async function readReasons(admin: ApiAccess): Promise<string[]> {
  const { reasons } = await ask<{ reasons: { kind: string }[] }>(admin, "GET", "/health");
  return reasons.map(({ kind }) => kind);
}

/** Each stall buys a job, pays somebody and delivers every second of its jobs. */
async function trade(
  admin: ApiAccess,
  stalls: readonly Stall[],
  books: Books,
  delayMinutes = 0,
): Promise<void> {
  for (const stall of stalls) {
    books.bought.push(await buyJob(admin, stall, ask, delayMinutes));
    books.transferred.push(await transfer(admin, stall));
  }
  await deliverJobs(admin, books);
}

async function deliverJobs(admin: ApiAccess, { bought, delivered }: Books): Promise<void> {
  for (const [i, job] of bought.entries()) {
    // They come from the stalls in turn.
    const isToBe = i % 4 < 2 && !delivered.has(job);
    if (isToBe && (await askStep(admin, "deliver", job))) delivered.add(job);
  }
}

async function addAgent(
  admin: ApiAccess,
  { agents }: Service,
  seller: Stall["seller"],
  books: Books,
): Promise<void> {
  await register(admin, seller, "Agent of the last moment", agents.url);
  books.agents.set(seller.address, (books.agents.get(seller.address) ?? 0) + 1);
}

/** What clients do whose purchases are gone: the same request again. One that is there answers 409, one that is too late 400. */
async function askAgain(admin: ApiAccess, books: Books): Promise<void> {
  const { bought, delivered } = books;
  delivered.clear();
  await deliverJobs(admin, books);
  const answers = new Map<number, number>();
  for (const { body } of bought) {
    const status = await ask(admin, "POST", "/purchase", body).then(
      () => 200,
      (error: unknown) => {
        if (!(error instanceof Refused)) throw error;
        return error.status;
      },
    );
    answers.set(status, (answers.get(status) ?? 0) + 1);
  }
  say(
    `all purchases were asked for again: ${[...answers].map(([status, n]) => `${n} × ${status}`).join(", ")}`,
  );
}

/**
 * Waits until no intent can be fulfilled now. A connection that is closed for its age ends nothing.
 */
async function calm({ host }: Service, limitMs = CALM_MS): Promise<void> {
  let open: object[] = [];
  const look = async () => {
    try {
      open = (await host.d1.prepare(OPEN).all<object>()).results;
      return open.length === 0;
    } catch (error) {
      say(`the database did not answer: ${error}`);
      return false;
    }
  };
  await until(look, { what: "nothing is open any more", everyMs: 2_000, limitMs }).catch(
    (error: unknown) => {
      for (const one of open) say(`open: ${JSON.stringify(one)}`);
      throw error;
    },
  );
}

/** Checks that the chain has every requested change once. */
function check({ chain }: Service, { bought, transferred, agents }: Books): void {
  const locks = locksOnChain(chain);
  const counts = bought.map((one) => locks.get(signatureOf(one.blockchainIdentifier)) ?? 0);
  expect(
    `each of ${bought.length} purchases is locked once`,
    counts.every((n) => n === 1),
    counts,
  );
  const paid = transferred.map(({ toAddress }) => heldAt(chain, toAddress));
  expect(
    `each of ${transferred.length} transfers is paid once`,
    transferred.every(({ amount }, i) => paid[i] === amount),
    paid,
  );
  for (const [address, count] of agents) {
    const minted = tokensAt(chain, address);
    expect(`each of ${count} agents is minted once`, minted === count, minted);
  }
}

/** Compares the records with those of a service that has read the whole chain again. */
async function compare(
  service: Service,
  admin: ApiAccess,
  stalls: readonly Stall[],
  folder: string,
) {
  const fresh = await followAnew(folder, service.provider, stalls);
  try {
    let found: string[] = [];
    const look = async () => {
      found = differences(await factsOf(admin), await factsOf(fresh));
      return found.length === 0;
    };
    const agree = await until(look, { what: "agreement", everyMs: 2_000, limitMs: CALM_MS }).catch(
      () => false,
    );
    const { size } = await factsOf(admin);
    expect(`all ${size} records say what the chain says`, agree, found.join("\n"));
    const { status, reasons } = await ask<{ status: string; reasons: object[] }>(
      admin,
      "GET",
      "/health",
    );
    expect("the service does well", status === "ok", JSON.stringify(reasons));
  } finally {
    await fresh.close();
  }
}

/** Sends a payment again that was settled before the restore. */
async function replay(
  { node, resource }: X402Scene,
  { signature }: Purchase,
): Promise<{ isSame: boolean; found: string }> {
  const earned = () => dollarsOf(node, PAYEE);
  const before = await earned();
  const { status } = await fetch(resource.url, { headers: { "payment-signature": signature } });
  const after = await earned();
  const { payload } = JSON.parse(Buffer.from(signature, "base64").toString());
  // Once its authorization has ended, the payment is refused.
  const expected = Number(payload.authorization.validBefore) * 1000 > Date.now() ? 200 : 402;
  return {
    isSame: status === expected && before === after,
    found: `${status}, ${before} before and ${after} after`,
  };
}
