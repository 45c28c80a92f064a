/**
 * `npm start`: the service on a local chain, for development and demonstration. Its state is
 * deleted on exit, unless a folder is given to store it.
 *
 *     PORT=8787 npm start -- [--no-demo | --idle | --troubles] [--docs] [--keep | --keep=FOLDER]
 *         [--origins=ORIGIN,…] [--provider=NAME] [--archive-after=1m]
 */
import { once } from "node:events";
import { appendFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { buildWorker } from "./build.ts";
import { contracts } from "./contracts/index.ts";
import { publishScripts } from "./demo/actors/publish.ts";
import { nameDollar } from "./demo/currency.ts";
import { invoiceCommand } from "./demo/invoice-command.ts";
import { takeJobs } from "./demo/jobs.ts";
import { playPresent } from "./demo/present.ts";
import { playRegistrations } from "./demo/registrations.ts";
import { findTranslator, registerAgents } from "./demo/registry.ts";
import { HISTORY_MS, playHistory } from "./demo/scenario.ts";
import type { PlayedLife } from "./demo/scenes.ts";
import { handOver } from "./demo/sources.ts";
import { makeTroubles } from "./demo/troubles.ts";
import { playPurchases } from "./demo/x402/buyer.ts";
import { EvmUnavailable } from "./evm/node.ts";
import { requireAssets, requireFolder, requireWritableCheckout } from "./folders.ts";
import { readMinutes, readOptions, type StartOptions, USAGE } from "./options.ts";
import { DEFAULT_PORT, EXAMPLE_ORIGINS, readOrigins } from "./origins.ts";
import { createProgress } from "./progress.ts";
import { developmentSecrets } from "./secrets.ts";
import type { Service } from "./service.ts";
import { summaryOf } from "./summary.ts";

const ORPHAN_CHECK_MS = 500;

const progress = createProgress(process.stdout);
const flags = optionsOrEnd();
const extent = flags["no-demo"] ? "nothing" : flags.idle ? "idle" : "demo";
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
  const named = flags.origins === undefined ? [] : readOrigins(flags.origins);
  const origins = [...Object.values(EXAMPLE_ORIGINS), ...named];
  const archiveAfter = flags["archive-after"];
  const archiveAfterMinutes = archiveAfter === undefined ? null : readMinutes(archiveAfter);
  requireWritableCheckout();
  const keep = flags.keep && resolve(flags.keep);
  if (keep) requireFolder(keep);
  requireAssets();
  const variables = developmentSecrets();
  if (flags.docs) {
    progress.begin("Building the documentation site");
    // Its packages are installed on the first use, and others need not wait for them.
    const { buildSite } = await import("../tools/site/build.ts");
    await buildSite();
  }
  progress.begin("Building the Worker");
  const { path: bundle } = await buildWorker(folder);
  const logged = join(keep || folder, "service.log");
  writeFileSync(logged, "");
  logFile = logged;
  const log = (line: string) => appendFileSync(logged, `${line}\n`);
  progress.begin("Starting the local chain and the Worker");
  // It takes a second to load, which nobody waits for who is refused above.
  const { startService } = await import("./service.ts");
  service = await startService({
    variables,
    port,
    bundle,
    log,
    origins,
    isEmpty: extent === "nothing",
    hasActors: extent === "demo",
    // The demo's two days are over when the service begins.
    begins: Date.now() - HISTORY_MS,
    ...(keep && { keep }),
    ...(flags.provider && { provider: flags.provider }),
    ...(archiveAfterMinutes !== null && { archiveAfterMinutes }),
  });
  const access = { url: service.url, token: variables.ADMIN_KEY };
  // A chain that was kept has had its demo; one that was stopped in the middle of it stays so.
  const isNew = service.chain.tip().height === 0;
  const isPlayed = isNew && extent === "demo";
  if (isNew) publishScripts(service.chain);
  let played: PlayedLife[] = [];
  if (isPlayed) {
    progress.begin("Playing two days of the demo's purchases");
    registerAgents(service.chain, service.agents);
    played = await playHistory(service.chain);
  }
  if (isNew) service.chain.moveTo(Date.now());
  service.goLive();
  if (isPlayed) {
    progress.begin("Registering the demo's agents");
    // From here on the service spends from the actors' wallets, and they no more.
    await handOver(access);
    await nameDollar(access);
    const play = await playRegistrations({ ...service, ...access });
    goOn(play(curtain.signal));
    // The first thing that the summary proposes is to buy from this agent.
    if (service.hasRegistry) await findTranslator(access, curtain.signal);
  }
  if (extent === "demo") {
    takeJobs(service.agents, access, curtain.signal);
    if (service.hasRegistry) goOn(playPresent(access, service.agents, curtain.signal, log));
  }
  const mirror = service.provider.replace("/api/", "/mirror/");
  const hasTroubles = flags.troubles === true && extent === "demo";
  if (hasTroubles && isPlayed) await makeTroubles(access, service.chain, service.receiver, mirror);
  const { x402, controls } = service;
  const isSold = !(x402 instanceof EvmUnavailable);
  if (isPlayed && isSold) goOn(playPurchases(access, x402.node, x402.resource.url));
  const paid = played.findLast(({ ends }) => ends === "Withdrawn");
  const invoiceScript = paid && join(keep || folder, "invoice.sh");
  if (invoiceScript)
    writeFileSync(invoiceScript, `${invoiceCommand(access, paid, Date.now())}\n`, { mode: 0o700 });
  progress.end();
  const lines = summaryOf({
    url: service.url,
    adminKey: variables.ADMIN_KEY,
    extent,
    hasRegistry: service.hasRegistry,
    isKept: keep !== undefined,
    controls,
    receiver: service.receiver.url,
    sold: isSold ? x402.resource.url : x402,
    ...(invoiceScript && { invoiceScript }),
    ...(hasTroubles && { secondProvider: mirror }),
    log: logged,
  });
  console.log(lines.join("\n"));
}

/** Ends here when there is nothing to start: for `--help`, and for what is no option. */
function optionsOrEnd(): StartOptions {
  try {
    const options = readOptions(process.argv.slice(2));
    if (!options.help) return options;
    progress.end();
    console.log(USAGE);
    process.exit(0);
  } catch (error) {
    progress.end();
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
    progress.end();
    if (logFile !== undefined) process.stderr.write(readFileSync(logFile));
    console.error(error instanceof Error ? error.message : error);
    process.exit(1);
  }
}
