/** The whole service on one machine: a local chain, the built Worker, its cron, its sources. */
import { join } from "node:path";
import { setInterval } from "node:timers/promises";
import { templates } from "./contracts/index.ts";
import { ACTOR_FUNDS } from "./demo/actors/wallets.ts";
import { type Agents, startAgents } from "./demo/agents.ts";
import { registerFunding } from "./demo/funding.ts";
import { type InboxProvider, startInboxProvider } from "./demo/inbox-provider.ts";
import { type Receiver, startReceiver } from "./demo/receiver.ts";
import { ensureRegistrySource } from "./demo/registry.ts";
import { ensureSources } from "./demo/sources.ts";
import { ensureWebhook } from "./demo/webhooks.ts";
import { CHAIN_ID, ensureRail } from "./demo/x402/rail.ts";
import { type PaidResource, startPaidResource } from "./demo/x402/resource.ts";
import { startKeptEvmNode } from "./evm/kept.ts";
import { type EvmNode, EvmUnavailable, startEvmNode } from "./evm/node.ts";
import { type Host, startHost } from "./host.ts";
import type { Chain } from "./ledger/chain.ts";
import { openJournal } from "./ledger/journal.ts";
import type { Faults } from "./server/faults.ts";
import { startDevnet } from "./server/server.ts";

export interface ServiceOptions {
  /** Variables and secrets of the Worker; `ADMIN_KEY` among them. */
  variables: Record<string, string> & { ADMIN_KEY: string };
  /** TCP port on 127.0.0.1; a free one when omitted. */
  port?: number;
  /** Takes each line that the Worker or its runtime prints; the console when omitted. */
  log?: (line: string) => void;
  /** The built Worker; `dist/worker.js` when omitted. */
  bundle?: string;
  /** When a new chain begins, epoch milliseconds; default now. */
  begins?: number;
  /** Origins on this machine, beside the demo's own, that webhooks, agents and nodes may be at. */
  origins?: readonly string[];
  /** Whether the service has no record: no source, wallet, webhook or EVM chain. */
  isEmpty?: boolean;
  /** Whether actors play with the managed wallets first: the service only watches, until `handOver`. */
  hasActors?: boolean;
  /** Milliseconds between two runs of the cron; default 2,000. The platform's are a minute apart. */
  cronEveryMs?: number;
  /** Minutes after which final escrows go to the archive; none does when omitted. */
  archiveAfterMinutes?: number;
  /**
   * Folder in which both chains and the Worker's state live on; all are forgotten when omitted. So
   * whatever `startService` makes may be there already.
   */
  keep?: string;
  /** The profile of the chain provider; see `devnet/blockfrost/profiles.ts`. Default: the hosted service's. */
  provider?: string;
}

export interface Service {
  /** Origin without a trailing slash. */
  url: string;
  /** Each transaction gets a separate block at once, until `goLive`. */
  chain: Chain;
  /** Base URL of the chain's provider. */
  provider: string;
  /** Base URL of the chain's controls: see `devnet/server/control.ts`. */
  controls: string;
  /** Whether the agents' registry is followed: Dolos and blockfrost-platform do not list a policy's history. */
  hasRegistry: boolean;
  /** Makes calls to the chain's provider fail. */
  faults: Faults;
  /** From now on the chain has a block every two seconds, with what has come meanwhile. */
  goLive(): void;
  host: Host;
  agents: Agents;
  inbox: InboxProvider;
  /** Where the events arrive. */
  receiver: Receiver;
  /** What the x402 rail takes, or why there is none. */
  x402: X402Scene | EvmUnavailable;
  /** Stops the cron, the Worker and the chains. */
  close(): Promise<void>;
}

/** The EVM node that x402 payments are settled on, and what is paid for. */
export interface X402Scene {
  node: EvmNode;
  resource: PaidResource;
}

const CRON_EVERY_MS = 2_000;
const BLOCK_EVERY_MS = 2_000;
const CHAIN_NAME = "demo";
/** Seconds: the agents of the demo come and go. */
const CHECK_EVERY_S = "3";
const NO_EVM = new EvmUnavailable("an empty service has no EVM chain");
/** The local chain has no quota: two days of history are read at once. */
const CALLS_PER_SECOND = "1000";

/**
 * Starts everything, with a payment source for each contract; on a machine without an EVM node,
 * everything but the x402 rail. The caller handles SIGINT and
 * SIGTERM: nothing is closed on its own.
 *
 * @throws when a part does not start; the others are stopped then.
 */
export async function startService(options: ServiceOptions): Promise<Service> {
  const closers: (() => Promise<void>)[] = [];
  const close = async () => {
    for (const closer of closers.splice(0).reverse()) await closer();
  };
  const hasRegistry = options.provider === undefined || options.provider === "ryo";
  try {
    const journal = options.keep && openJournal(join(options.keep, "chain.sqlite"));
    if (journal) closers.push(async () => journal.close());
    const devnet = await startDevnet();
    closers.push(() => devnet.close());
    const chainNode = devnet.createChain(CHAIN_NAME, {
      funds: ACTOR_FUNDS,
      autoMine: true,
      ...(options.begins !== undefined && { begins: options.begins }),
      ...(journal && { journal }),
    });
    const { chain, url } = chainNode;
    registerFunding(devnet);
    const evm = options.isEmpty ? NO_EVM : await startEvm(options.keep);
    const node = evm instanceof EvmUnavailable ? null : evm;
    if (node) closers.push(() => node.close());
    const agents = await startAgents(options.keep && join(options.keep, "agents-port"));
    closers.push(() => agents.close());
    const inbox = await startInboxProvider();
    closers.push(() => inbox.close());
    const receiver = await startReceiver(options.keep && join(options.keep, "receiver-port"));
    closers.push(() => receiver.close());
    const origins = [devnet.url, agents.url, inbox.url, receiver.url];
    if (node) origins.push(node.url);
    origins.push(...(options.origins ?? []));
    const { archiveAfterMinutes } = options;
    const host = await startHost({
      bindings: {
        ...options.variables,
        BLOCKFROST_URL_PREPROD: toProfileUrl(url, options.provider),
        CONTRACT_TEMPLATES: JSON.stringify(templates()),
        LOOPBACK_ORIGINS: origins.join(","),
        HEALTH_CHECK_INTERVAL_S: CHECK_EVERY_S,
        PROVIDER_CALLS_PER_SECOND: CALLS_PER_SECOND,
        INBOX_PROVIDER_URL_PREPROD: inbox.url,
        ...(archiveAfterMinutes !== undefined && {
          ARCHIVE_AFTER_MINUTES: String(archiveAfterMinutes),
        }),
      },
      leaveSignals: true,
      ...(options.log && { log: options.log }),
      ...(options.port !== undefined && { port: options.port }),
      ...(options.bundle !== undefined && { bundle: options.bundle }),
      ...(options.keep !== undefined && { persistTo: join(options.keep, "worker") }),
    });
    let closed: Promise<void> | undefined;
    const closeHost = () => (closed ??= host.close());
    closers.push(closeHost);
    const admin = { url: host.url, token: options.variables.ADMIN_KEY };
    if (!options.isEmpty) {
      if (hasRegistry) await ensureRegistrySource(admin);
      const helper = { rpcProvider: "Ogmios", url: url.replace("/api/v0", "/ogmios") };
      await ensureSources(
        admin,
        options.hasActors ? "nothing" : "all",
        options.provider === undefined ? [] : [helper],
      );
      await ensureWebhook(admin, receiver);
    }
    let x402: Service["x402"];
    if (evm instanceof EvmUnavailable) x402 = evm;
    else {
      await ensureRail(admin, evm);
      const resource = await startPaidResource(admin);
      closers.push(() => resource.close());
      x402 = { node: evm, resource };
    }
    const stopCron = startCron(host, options.cronEveryMs ?? CRON_EVERY_MS);
    // The Worker at once: Ctrl-C reaches workerd too, and its end looks like a crash until it is closed.
    closers.push(async () => {
      await Promise.all([closeHost(), stopCron()]);
    });
    const goLive = () => chainNode.mineEvery(BLOCK_EVERY_MS);
    const { faults } = chainNode;
    const controls = `${devnet.url}/_control/${CHAIN_NAME}`;
    const served = { url: host.url, chain, provider: url, hasRegistry, controls, faults, goLive };
    return { ...served, host, agents, inbox, receiver, x402, close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** The same chain as another server shows it. */
function toProfileUrl(url: string, profile = "api"): string {
  return url.replace("/api/v0", `/${profile}/v0`);
}

/** The EVM node of the service, or why this machine has none. */
async function startEvm(keep: string | undefined): Promise<EvmNode | EvmUnavailable> {
  try {
    if (keep === undefined) return await startEvmNode(CHAIN_ID);
    return await startKeptEvmNode(CHAIN_ID, join(keep, "evm-chain"));
  } catch (error) {
    if (error instanceof EvmUnavailable) return error;
    throw error;
  }
}

/** Fires the cron one run at a time. The returned function waits for the end of the run in progress. */
function startCron(host: Host, everyMs: number): () => Promise<void> {
  const stop = new AbortController();
  const running = (async () => {
    for await (const _ of setInterval(everyMs, null, { signal: stop.signal })) {
      await host.scheduled().catch((error: unknown) => {
        // On Ctrl-C workerd may be gone before the run in progress has ended.
        if (!stop.signal.aborted) console.error(error);
      });
    }
  })().catch((error: unknown) => {
    if (!stop.signal.aborted) throw error;
  });
  return async () => {
    stop.abort();
    await running;
  };
}
