/** The deployment of a soak: the service beside a local chain that goes on while the service is killed. */
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { buildWorker } from "../build.ts";
import { type ApiAccess, ask } from "../client/api.ts";
import { templates } from "../contracts/index.ts";
import { publishScripts } from "../demo/actors/publish.ts";
import { ACTOR_FUNDS } from "../demo/actors/wallets.ts";
import { type Agents, startAgents } from "../demo/agents.ts";
import { type Receiver, startReceiver } from "../demo/receiver.ts";
import { ensureRegistrySource } from "../demo/registry.ts";
import { ensureSources } from "../demo/sources.ts";
import { ensureRail, networkOf } from "../demo/x402/rail.ts";
import { type PaidResource, startPaidResource } from "../demo/x402/resource.ts";
import { type EvmNode, EvmUnavailable, startEvmNode } from "../evm/node.ts";
import { type Host, startHost } from "../host.ts";
import type { Block } from "../ledger/blocks.ts";
import type { Chain } from "../ledger/chain.ts";
import { decode } from "../ledger/decode.ts";
import type { ChainEvent } from "../ledger/journal.ts";
import { developmentSecrets } from "../secrets.ts";
import type { Faults } from "../server/faults.ts";
import { startDevnet } from "../server/server.ts";
import { bundleBeside, wrappedBundle } from "../wrapped-bundle.ts";
import { type EvmGate, startEvmGate } from "./evm-gate.ts";
import { ProviderSettings } from "./provider-settings.ts";
import { NAMED_CHAIN, startVersion1Shop, type Version1Shop } from "./version-1-shop.ts";
import { FAULTS_PATH, NO_FAULTS, type WorkerFaults } from "./worker-faults.ts";

/** The chain lives twenty times as fast as the service, so that an escrow takes minutes. */
const BLOCK_EVERY_MS = 1_000;
const BLOCK_TIME_MS = 20_000;
const CRON_EVERY_MS = 15_000;
const WEBHOOK_TIMEOUT_MS = "3000";
const ARCHIVES = 3;
/** What the later version adds to the tables. The version before goes on with these tables. */
const LATER_MIGRATION = [
  "ALTER TABLE escrow ADD COLUMN later_note TEXT",
  "CREATE TABLE later_record (id TEXT PRIMARY KEY NOT NULL)",
];

/** What happens on the chain, and when, by the wall clock. */
export interface ChainWatcher {
  onAccepted(txHash: string, at: number): void;
  onBlock(block: Block, at: number): void;
}

export interface Deployment {
  admin: ApiAccess;
  chain: Chain;
  /** Makes a block, whose time is some seconds after the last one. */
  mine(): void;
  /** Of the chain's providers. */
  providerFaults: Faults;
  /** Base URL of the chain's first provider. */
  provider: string;
  /** Gives the sources their further providers, or takes them away. */
  setFurtherProviders(post: typeof ask, hasAny: boolean): Promise<void>;
  /** Gives the sources new keys for all providers. */
  replaceProviderKeys(post: typeof ask): Promise<void>;
  agents: Agents;
  receiver: Receiver;
  evm: EvmNode | null;
  /** Between the service and the EVM node. */
  evmGate: EvmGate | null;
  /** What is sold over x402, in version 2 and in version 1. */
  resource: PaidResource | null;
  oldResource: Version1Shop | null;
  /** Of the secrets and the bundle. */
  folder: string;
  /** Sets what goes wrong within the Worker. */
  setFaults(faults: WorkerFaults): Promise<void>;
  /** Kills the service, and starts it again from what it has stored. */
  killAndStart(downMs: number): Promise<void>;
  /** The same, with the other one of two versions. The first time, tables get what the later one adds. */
  deployOther(downMs: number): Promise<void>;
  /** Reads the service's database. */
  read<Row>(sql: string): Promise<Row[]>;
  close(): Promise<void>;
}

/** @param log - takes each line of the Worker */
export async function startDeployment(
  watcher: ChainWatcher,
  log: (line: string) => void,
): Promise<Deployment> {
  const closers: (() => unknown)[] = [];
  const close = async () => {
    for (const closer of closers.splice(0).reverse()) await closer();
  };
  try {
    const folder = mkdtempSync(join(tmpdir(), "soak-"));
    closers.push(() => rmSync(folder, { recursive: true, force: true }));
    const faulty = await buildFaultyWorker(folder);
    const versions: [string, string] = [faulty, copyAsLater(faulty, join(folder, "later"))];
    const devnet = await startDevnet();
    closers.push(() => devnet.close());
    const { chain, url, faults } = devnet.createChain("soak", {
      funds: ACTOR_FUNDS,
      autoMine: true,
      journal: { events: () => [], append: (event) => noteAccepted(event, watcher), close() {} },
    });
    publishScripts(chain);
    const evm = await startEvmNode(NAMED_CHAIN.id).catch((error: unknown) => {
      if (error instanceof EvmUnavailable) return null;
      throw error;
    });
    const evmGate = evm && (await startEvmGate(evm.url));
    closers.push(async () => {
      await evmGate?.close();
      await evm?.close();
    });
    const [agents, receiver] = [await startAgents(), await startReceiver()];
    closers.push(() => Promise.all([agents.close(), receiver.close()]));
    const variables = developmentSecrets(join(folder, ".dev.vars"));
    const origins = [devnet.url, agents.url, receiver.url, ...(evmGate ? [evmGate.url] : [])];
    const start = (port: number) =>
      startHost({
        bindings: {
          ...variables,
          BLOCKFROST_URL_PREPROD: url,
          CONTRACT_TEMPLATES: JSON.stringify(templates()),
          LOOPBACK_ORIGINS: origins.join(","),
          PROVIDER_CALLS_PER_SECOND: "1000",
          CHAIN_CLOCK: "tip",
          WEBHOOK_TIMEOUT_MS,
          ARCHIVE_AFTER_MINUTES: "1",
        },
        archives: ARCHIVES,
        rateLimits: false,
        leaveSignals: true,
        persistTo: join(folder, "state"),
        ...{ port, bundle: versions[0], log },
      });

    let host = await start(0);
    let stopCron = startCron(host);
    const stop = () => Promise.all([host.close(), stopCron()]);
    closers.push(stop);
    const admin = { url: host.url, token: variables.ADMIN_KEY };
    let workerFaults = NO_FAULTS;
    const setFaults = async (next: WorkerFaults) => {
      workerFaults = next;
      const body = JSON.stringify(next);
      const { ok } = await fetch(`${admin.url}${FAULTS_PATH}`, { method: "POST", body });
      if (!ok) throw new Error("the Worker takes no faults");
    };
    await ensureRegistrySource(admin);
    await ensureSources(admin, "all");
    const providers = new ProviderSettings(admin, url);
    await providers.apply(ask, true);
    if (evm && evmGate) await ensureRail(admin, { ...evm, url: evmGate.url });
    const resource = evm && (await startPaidResource(admin, networkOf(evm)));
    closers.push(() => resource?.close());
    const oldResource = evm && (await startVersion1Shop(admin, evm));
    closers.push(() => oldResource?.close());
    const mine = () => {
      chain.advance(BLOCK_TIME_MS - BLOCK_EVERY_MS);
      watcher.onBlock(chain.mine(), Date.now());
    };
    chain.autoMine = false;
    const miner = setInterval(mine, BLOCK_EVERY_MS);
    closers.push(() => clearInterval(miner));
    const killAndStart = async (downMs: number) => {
      await stop();
      await new Promise((resolve) => setTimeout(resolve, downMs));
      host = await start(Number(new URL(admin.url).port));
      stopCron = startCron(host);
      await setFaults(workerFaults);
    };
    let isMigrated = false;
    const migrate = async () => {
      if (!isMigrated) await host.d1.batch(LATER_MIGRATION.map((sql) => host.d1.prepare(sql)));
      isMigrated = true;
    };
    return {
      ...{ admin, chain, mine, providerFaults: faults, provider: url, agents },
      ...{ receiver, evm, evmGate, resource, oldResource, folder, setFaults, killAndStart, close },
      read: async <Row>(sql: string) => (await host.d1.prepare(sql).all<Row>()).results,
      setFurtherProviders: (post, hasAny) => providers.apply(post, hasAny),
      replaceProviderKeys: (post) => providers.replaceKeys(post),
      async deployOther(downMs) {
        await migrate();
        versions.reverse();
        return killAndStart(downMs);
      },
    };
  } catch (error) {
    await close();
    throw error;
  }
}

function noteAccepted(event: ChainEvent, watcher: ChainWatcher): void {
  if (event.kind === "accepted" && !event.isReplayed)
    watcher.onAccepted(decode(event.cbor).hash, Date.now());
}

/** @returns path of the Worker with faults around it */
async function buildFaultyWorker(folder: string): Promise<string> {
  const { path: bundle } = await buildWorker(folder);
  const wrapper = `import * as service from "./service.mjs";
import { addFaults, evictObject } from "./faulty-worker.mjs";
export default addFaults(service.default);`;
  const objectOf = (name: string) => `export const ${name} = evictObject(service.${name});`;
  const path = wrappedBundle(bundle, join(folder, "faulty"), wrapper, objectOf);
  const entry = fileURLToPath(new URL("faulty-worker.ts", import.meta.url));
  bundleBeside(path, entry, "faulty-worker.mjs");
  return path;
}

/**
 * A later version: each document has another form there, so that the service renders all of them anew.
 *
 * @returns path of the copy
 */
function copyAsLater(worker: string, folder: string): string {
  cpSync(dirname(worker), folder, { recursive: true });
  const path = join(folder, "service.mjs");
  const code = readFileSync(path, "utf8");
  // The body of `toDocumentVersion`.
  const later = code.replace(/\?(\w+)\+1e3:\1\}/, "?$1+1e3:$1+1}");
  if (later === code) throw new Error("the bundle has no versions of documents");
  writeFileSync(path, later);
  return join(folder, "worker.js");
}

/** Fires the cron one run at a time. A run fails when the database does; the next one makes up for it. */
function startCron(host: Host): () => Promise<void> {
  let run = Promise.resolve();
  const fire = () => {
    run = run.then(() => host.scheduled()).catch(() => undefined);
  };
  const timer = setInterval(fire, CRON_EVERY_MS);
  return () => {
    clearInterval(timer);
    return run;
  };
}
