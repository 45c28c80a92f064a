/**
 * `npm start`: the service on a local chain, for development and demonstration. Its state is
 * forgotten on exit.
 *
 *     PORT=8787 npm start -- [--no-demo]
 */
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { buildWorker } from "./build.ts";
import { playDemo } from "./scenario.ts";
import { developmentSecrets } from "./secrets.ts";
import { type Service, startService } from "./service.ts";

const DEFAULT_PORT = "8787";
const ORPHAN_CHECK_MS = 500;
const DIFF = "/api/v1/purchase/diff/onchain-state-or-result?network=Preprod";

const { values: flags } = parseArgs({ options: { "no-demo": { type: "boolean" } } });
/** A bundle of its own: another copy may be building at this moment. */
const folder = mkdtempSync(join(tmpdir(), "agent-payment-service-"));
process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
let service: Service | undefined;
let stopping = false;

async function start(): Promise<void> {
  const port = await freePort(process.env.PORT ?? DEFAULT_PORT);
  const variables = developmentSecrets();
  const { path: bundle } = await buildWorker(folder);
  service = await startService({ variables, port, bundle });
  if (!flags["no-demo"]) await playDemo(service.chain);
  console.log(`ready: ${service.url} · admin key: ${variables.ADMIN_KEY}`);
  console.log(`curl -s -H 'token: ${variables.ADMIN_KEY}' '${service.url}${DIFF}'`);
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
    console.error(error instanceof Error ? error.message : error);
    process.exit(1);
  }
}
