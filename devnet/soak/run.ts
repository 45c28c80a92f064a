/**
 * Runs everything together on the local chain: buyers, sellers, webhooks, polling clients and x402, while faults
 * come and go. Each minute, and at the end, it checks what must hold. Load and faults are drawn from the seed.
 *
 *     npm run soak -- [--minutes N] [--seed S] [--rate R] [--faults NAME,…] [--log FILE]
 *
 * `--rate` is how many purchases a minute has on average; `--faults` names those that may be
 * drawn, and `--faults none` has none. After the minutes the
 * program waits until all work is done. If an invariant is broken, it prints seed, minute and evidence, and
 * exits with 1.
 */
import { randomInt } from "node:crypto";
import { createWriteStream } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import { parseArgs } from "node:util";
import { formatTable } from "../../bench/support/table.ts";
import { ACTOR_FUNDS, ADMIN } from "../demo/actors/wallets.ts";
import { makeChainFinal } from "../drills/archives.ts";
import { signatureOf } from "../drills/evidence.ts";
import { Seeded } from "../seeded.ts";
import { Answers, patientPost } from "./caller.ts";
import { startDeployment } from "./deployment.ts";
import { Endpoints } from "./endpoints.ts";
import { Followers } from "./followers.ts";
import {
  balanceOf,
  checkInvariants,
  countArchived,
  findOpenWork,
  type Observed,
} from "./invariants.ts";
import { runSchedule } from "./schedule.ts";
import { ServiceLevels } from "./service-levels.ts";
import { Traders } from "./traders.ts";

const MINUTE_MS = 60_000;
/** Of the minutes, before the first fault: service levels are measured without faults first. */
const CALM_SHARE = 0.25;
const OPERATOR_PATIENCE_MS = 10 * MINUTE_MS;
const STEP_EVERY_MS = 5_000;
/** The load rises and falls once in as many seconds. */
const WAVE_S = 180;
/** Until all work is done, the chain goes on this far at once. */
const AHEAD_MS = 20 * MINUTE_MS;
const REST_LIMIT_MS = 8 * MINUTE_MS;
const REST_POLL_MS = 5_000;
/** Polls of deliveries in which nothing arrives. More than the pause of an endpoint that backs off. */
const IDLE_POLLS = 72;
/** Longer than from one run of the cron to the next. */
const ARCHIVE_POLL_MS = 30_000;
const ARCHIVE_POLLS = 6;

const { values } = parseArgs({
  options: {
    minutes: { type: "string", default: "5" },
    seed: { type: "string" },
    rate: { type: "string", default: "10" },
    faults: { type: "string" },
    log: { type: "string" },
  },
});
const minutes = Number(values.minutes);
const seed = Number(values.seed ?? randomInt(2 ** 31));
const rate = Number(values.rate);
if (!(minutes > 0)) throw new RangeError("--minutes: must be a number above 0");
if (!(rate > 0 && rate <= 60)) throw new RangeError("--rate: must be a number from 0 to 60");
if (!Number.isInteger(seed)) throw new RangeError("--seed: must be a whole number");

const begun = Date.now();
const say = (text: string) => {
  const seconds = Math.round((Date.now() - begun) / 1000);
  const time = `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
  console.log(`${time.padStart(6)}  ${text}`);
};

/** An invariant is broken: what follows would say nothing. */
class Broken extends Error {}

const log = values.log === undefined ? null : createWriteStream(values.log);
const answers = new Answers();
const levels = new ServiceLevels();
const post = patientPost(answers);
say(`seed ${seed}, ${minutes} minutes, ${rate} purchases a minute`);
const deployment = await startDeployment(levels, (line) => log?.write(`${line}\n`));
try {
  await soak();
  say("no invariant is broken");
} catch (error) {
  if (!(error instanceof Broken)) throw error;
  say(error.message);
  process.exitCode = 1;
} finally {
  await deployment.close();
  log?.end();
}

async function soak(): Promise<void> {
  const endpoints = new Endpoints(deployment.receiver, levels);
  await endpoints.subscribe(deployment.admin);
  const traders = new Traders(deployment, new Seeded(seed), post, levels);
  await traders.open();
  const followers = new Followers(deployment.admin, levels, answers);
  followers.start();
  const issued = ACTOR_FUNDS.reduce((sum, { lovelace }) => sum + lovelace, 0n);
  const feesBefore = balanceOf(deployment.chain, ADMIN.address);
  const observed = { deployment, traders, followers, endpoints, answers, issued, feesBefore };
  say("agents, keys and receivers are ready");

  const stop = new AbortController();
  // An operator goes on until a setting is changed back.
  const operate = patientPost(answers, OPERATOR_PATIENCE_MS);
  const parties = { deployment, levels, endpoints, traders, post: operate, say };
  const calmMs = minutes * CALM_SHARE * MINUTE_MS;
  const faults = runSchedule(parties, values.faults, calmMs, new Seeded(seed + 1), stop.signal);
  const end = Date.now() + minutes * MINUTE_MS;
  const load = runLoad(traders, end);
  // A broken invariant ends the service while both still call it.
  for (const running of [faults, load]) running.catch(() => undefined);
  for (let minute = 1; Date.now() < end; minute++) {
    await pause(Math.min(MINUTE_MS, end - Date.now()));
    await check(observed, `minute ${minute}`, false);
  }
  stop.abort();
  const counts = await faults;
  await load;
  say(`the load has ended; faults: ${[...counts].map(([name, n]) => `${n} × ${name}`).join(", ")}`);
  await comeToRest(observed);
  await archiveFinal();
  await followers.stop();
  await check(observed, "rest", true).finally(() =>
    console.log(formatTable("Service levels", levels.rows())),
  );
}

async function runLoad(traders: Traders, end: number): Promise<void> {
  let stepping = Promise.resolve();
  let isStepping = false;
  for (let second = 0; Date.now() < end; second++) {
    const wave = 1 + Math.sin((2 * Math.PI * second) / WAVE_S);
    traders.second(second, (rate / 60) * wave);
    if (!isStepping && (second * 1000) % STEP_EVERY_MS === 0) {
      isStepping = true;
      stepping = traders.step().finally(() => {
        isStepping = false;
      });
    }
    await pause(1_000);
  }
  await Promise.all([stepping, traders.rest()]);
}

/** Lets the chain go on until each escrow has ended and nothing waits. */
async function comeToRest({ endpoints, ...observed }: Observed): Promise<void> {
  const { traders } = observed;
  const limit = Date.now() + REST_LIMIT_MS;
  let open: string[] = [];
  for (let i = 0; Date.now() < limit; i++) {
    await traders.step();
    // Steps that the parties may still ask for come first.
    if (i % 6 === 5) deployment.chain.advance(AHEAD_MS);
    open = await findOpenWork({ ...observed, endpoints });
    if (open.length === 0) break;
    await pause(REST_POLL_MS);
  }
  say(open.length === 0 ? "all work is done" : `open work: ${open.slice(0, 5).join("\n")}`);
  await pause(REST_POLL_MS);
  // What waits five minutes for its third attempt is sent now.
  const listWaiting = () => endpoints.listWaiting(deployment.admin);
  if ((await listWaiting()).length > 0) await endpoints.recover(deployment.admin);
  const countArrived = () =>
    [...endpoints.receivedEvents().values()].reduce((sum, { length }) => sum + length, 0);
  let arrived = countArrived();
  for (let idle = 0; idle < IDLE_POLLS && (await listWaiting()).length > 0; idle++) {
    await pause(REST_POLL_MS);
    const now = countArrived();
    if (now > arrived) idle = 0;
    arrived = now;
  }
}

/** Makes the chain final, and waits until the cron has moved escrows and moves no more. */
async function archiveFinal(): Promise<void> {
  makeChainFinal(deployment.chain);
  let [before, counts] = ["", await countArchived(deployment)];
  for (let i = 0; i < ARCHIVE_POLLS && (counts.length === 0 || `${counts}` !== before); i++) {
    await pause(ARCHIVE_POLL_MS);
    [before, counts] = [`${counts}`, await countArchived(deployment)];
  }
  say(`escrows in archives: ${counts.join(", ")}`);
}

/** Prints the table of a minute. @throws Broken */
async function check(observed: Observed, when: string, isAtRest: boolean): Promise<void> {
  const { traders, followers } = observed;
  for (const { blockchainIdentifier, boughtAt } of traders.trades)
    levels.addPurchase(signatureOf(blockchainIdentifier), boughtAt);
  const findings = await checkInvariants(observed, isAtRest);
  const broken = findings.filter(({ evidence }) => evidence.length > 0);
  say(
    `${when}: ${traders.trades.length} purchases, ${traders.transferred.length} transfers, ${traders.paid} x402, ` +
      `${followers.payments.size} payments followed, height ${deployment.chain.tip().height}; answers ${answers.summary()}`,
  );
  if (isAtRest || broken.length > 0)
    console.log(
      formatTable(
        "Invariants",
        findings.map(({ invariant, evidence }) => ({
          invariant,
          holds: evidence.length === 0 ? "yes" : "NO",
        })),
      ),
    );
  for (const error of traders.errors.splice(0))
    say(`refused: ${error.replace(/\s+/g, " ").slice(0, 300)}`);
  if (broken.length === 0) return;
  const evidence = broken.map((one) => `${one.invariant}:\n  ${one.evidence.join("\n  ")}`);
  throw new Broken(`BROKEN, seed ${seed}, ${when}\n${evidence.join("\n")}`);
}
