/**
 * `npm start`: the service on a local chain, for development and demonstration. Its state is
 * deleted on exit, unless a folder is given to store it.
 *
 *     PORT=8787 npm start -- [--no-demo] [--keep | --keep=FOLDER] [--origins=ORIGIN,…]
 */
import { once } from "node:events";
import { appendFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { buildWorker } from "./build.ts";
import { contracts } from "./contracts/index.ts";
import { publishScripts } from "./demo/actors/publish.ts";
import { invoiceCommand } from "./demo/invoice-command.ts";
import { takeJobs } from "./demo/jobs.ts";
import { playPresent } from "./demo/present.ts";
import { playRegistrations } from "./demo/registrations.ts";
import { registerAgents } from "./demo/registry.ts";
import { HISTORY_MS, playHistory } from "./demo/scenario.ts";
import type { PlayedLife } from "./demo/scenes.ts";
import { handOver } from "./demo/sources.ts";
import { playPurchases } from "./demo/x402/buyer.ts";
import { EvmUnavailable } from "./evm/node.ts";
import { requireFolder, requireWritableCheckout } from "./folders.ts";
import { readOptions, type StartOptions, USAGE } from "./options.ts";
import { readOrigins } from "./origins.ts";
import { developmentSecrets } from "./secrets.ts";
import type { Service } from "./service.ts";

const DEFAULT_PORT = "8787";
const ORPHAN_CHECK_MS = 500;
const DIFF = "/api/v1/purchase/diff/onchain-state-or-result?network=Preprod";
const SETTLEMENTS = "/api/v1/x402/settlements";

const flags = optionsOrEnd();
/** A separate bundle, because another copy may be building at this moment. */
const folder = mkdtempSync(join(tmpdir(), "agent-payment-service-"));
process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
let service: Service | undefined;
/** Where the Worker and its runtime print, so that nothing comes between the lines of this program. */
let logFile: string | undefined;
/** Ends what the demo still plays once the service is ready. */
const curtain = new AbortController();
let stopping = false;

async function start(): Promise<void> {
  const port = await freePort(process.env.PORT ?? DEFAULT_PORT);
  // Before anything is built: what they are made of may be a file that is wrong.
  contracts();
  const origins = flags.origins === undefined ? [] : readOrigins(flags.origins);
  requireWritableCheckout();
  const keep = flags.keep && resolve(flags.keep);
  if (keep) requireFolder(keep);
  const variables = developmentSecrets();
  const { path: bundle } = await buildWorker(folder);
  const logged = join(keep || folder, "service.log");
  writeFileSync(logged, "");
  logFile = logged;
  const log = (line: string) => appendFileSync(logged, `${line}\n`);
  // It takes a second to load, which nobody waits for who is refused above.
  const { startService } = await import("./service.ts");
  service = await startService({
    variables,
    port,
    bundle,
    log,
    origins,
    hasActors: !flags["no-demo"],
    // The demo's two days are over when the service begins.
    begins: Date.now() - HISTORY_MS,
    ...(keep && { keep }),
  });
  const access = { url: service.url, token: variables.ADMIN_KEY };
  // A chain that was kept has had its demo; one that was stopped in the middle of it stays so.
  const isNew = service.chain.tip().height === 0;
  const isPlayed = isNew && !flags["no-demo"];
  if (isNew) publishScripts(service.chain);
  let played: PlayedLife[] = [];
  if (isPlayed) {
    registerAgents(service.chain, service.agents);
    played = await playHistory(service.chain);
  }
  if (isNew) service.chain.moveTo(Date.now());
  service.goLive();
  if (isPlayed) {
    // From here on the service spends from the actors' wallets, and they no more.
    await handOver(access);
    const play = await playRegistrations({ ...service, ...access });
    goOn(play(curtain.signal));
  }
  if (!flags["no-demo"]) takeJobs(service.agents, access, curtain.signal);
  if (!flags["no-demo"]) goOn(playPresent(access, service.agents, curtain.signal, log));
  const curl = (path: string) => `curl -s -H 'token: ${access.token}' '${access.url}${path}'`;
  console.log(`ready: ${service.url} · admin key: ${variables.ADMIN_KEY}`);
  console.log(`console: ${service.url}/console`);
  console.log(`API reference: ${service.url}/docs`);
  console.log(`purchases: ${curl(DIFF)}`);
  console.log(`webhooks arrive at: ${service.receiver.url}`);
  const { x402 } = service;
  if (x402 instanceof EvmUnavailable) console.log(`x402 is left out: ${x402.message}`);
  else {
    console.log(`sold by x402: curl -i '${x402.resource.url}'`);
    console.log(`settlements: ${curl(SETTLEMENTS)}`);
    if (isPlayed) goOn(playPurchases(access, x402.node, x402.resource.url));
  }
  const paid = played.findLast(({ ends }) => ends === "Withdrawn");
  if (paid) {
    const script = join(keep || folder, "invoice.sh");
    writeFileSync(script, `${invoiceCommand(access, paid, Date.now())}\n`, { mode: 0o700 });
    console.log(`an invoice, as invoice.pdf: sh '${script}'`);
  }
  console.log(`the service logs to: ${logged}`);
}

/** Ends here when there is nothing to start: for `--help`, and for what is no option. */
function optionsOrEnd(): StartOptions {
  try {
    const options = readOptions(process.argv.slice(2));
    if (!options.help) return options;
    console.log(USAGE);
    process.exit(0);
  } catch (error) {
    console.error(error instanceof Error ? error.message : error);
    process.exit(1);
  }
}

/** Runs a part of the demo while the service is ready. A part that the end interrupts may fail. */
function goOn(part: Promise<void>): void {
  part.catch((error: unknown) => {
    if (!curtain.signal.aborted) console.error(error);
  });
}

/** @throws with one clear line when it is no port, or one that something else listens on. */
async function freePort(text: string): Promise<number> {
  const port = Number(text);
  if (!Number.isInteger(port) || port < 0 || port > 65_535) throw new Error(`no port: ${text}`);
  const probe = createServer();
  try {
    await once(probe.listen(port, "127.0.0.1"), "listening");
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const problem = code === "EADDRINUSE" ? "is in use" : `cannot be used (${code})`;
    throw new Error(`port ${port} ${problem}; choose another one: PORT=8788 npm start`);
  } finally {
    probe.close();
  }
  return port;
}

const started = start();

async function stop(): Promise<void> {
  if (stopping) process.exit(130);
  stopping = true;
  // What is still starting cannot be stopped half-way; its outcome no longer matters.
  await started.catch(() => undefined);
  curtain.abort();
  await service?.close();
  process.exit(0);
}
process.on("SIGINT", stop);
process.on("SIGTERM", stop);

// The shell between npm and this process dies of a signal without passing it on.
if (process.env.npm_lifecycle_event === "start") {
  const shell = process.ppid;
  const watch = setInterval(() => {
    if (process.ppid === shell) return;
    clearInterval(watch);
    stop();
  }, ORPHAN_CHECK_MS);
}

try {
  await started;
} catch (error) {
  if (!stopping) {
    if (logFile !== undefined) process.stderr.write(readFileSync(logFile));
    console.error(error instanceof Error ? error.message : error);
    process.exit(1);
  }
}
