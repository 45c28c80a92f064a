/** The whole service on one machine: a local chain, the built Worker, its cron, its sources. */
import { setInterval } from "node:timers/promises";
import { ACTOR_FUNDS, ADMIN, CASTS, type Wallet } from "./actors/wallets.ts";
import type { Chain } from "./chain.ts";
import { CONTRACTS, type DevnetContract } from "./contracts/index.ts";
import { type Host, startHost } from "./host.ts";
import { startDevnet } from "./server.ts";

export interface ServiceOptions {
  /** Variables and secrets of the Worker; `ADMIN_KEY` among them. */
  variables: Record<string, string> & { ADMIN_KEY: string };
  /** TCP port on 127.0.0.1; a free one when omitted. */
  port?: number;
  /** The built Worker; `dist/worker.js` when omitted. */
  bundle?: string;
}

export interface Service {
  /** Origin without a trailing slash. */
  url: string;
  chain: Chain;
  host: Host;
  /** Stops the cron, the Worker and the chain. */
  close(): Promise<void>;
}

const CRON_EVERY_MS = 2_000;
const CHAIN_NAME = "demo";

/**
 * Starts everything and creates a payment source for each contract, whose managed wallets are the
 * actors' wallets. The cron fires every two seconds. The caller handles SIGINT and SIGTERM:
 * nothing is closed on its own.
 *
 * @throws when a part does not start; the others are stopped then.
 */
export async function startService(options: ServiceOptions): Promise<Service> {
  const closers: (() => Promise<void>)[] = [];
  const close = async () => {
    for (const closer of closers.splice(0).reverse()) await closer();
  };
  try {
    const devnet = await startDevnet();
    closers.push(() => devnet.close());
    const { chain, url } = devnet.createChain(CHAIN_NAME, { funds: ACTOR_FUNDS, autoMine: true });
    const host = await startHost({
      bindings: {
        ...options.variables,
        BLOCKFROST_URL_PREPROD: url,
        LOOPBACK_ORIGINS: devnet.url,
      },
      leaveSignals: true,
      ...(options.port !== undefined && { port: options.port }),
      ...(options.bundle !== undefined && { bundle: options.bundle }),
    });
    closers.push(() => host.close());
    for (const contract of CONTRACTS) await createSource(host.url, options.variables, contract);
    closers.push(startCron(host));
    return { url: host.url, chain, host, close };
  } catch (error) {
    await close();
    throw error;
  }
}

async function createSource(
  url: string,
  { ADMIN_KEY }: { ADMIN_KEY: string },
  contract: DevnetContract,
): Promise<void> {
  const response = await fetch(`${url}/api/v1/payment-source-extended`, {
    method: "POST",
    headers: { token: ADMIN_KEY, "content-type": "application/json" },
    body: JSON.stringify({
      network: "Preprod",
      paymentSourceType: contract.type,
      smartContractAddress: contract.address,
      policyId: contract.policyId,
      PaymentSourceConfig: { rpcProviderApiKey: "local-chain", rpcProvider: "Blockfrost" },
      AdminWallets: [{ walletAddress: ADMIN.address }],
      FeeReceiverNetworkWallet: { walletAddress: ADMIN.address },
      feeRatePermille: 50,
      SellingWallets: CASTS[contract.type].sellers.map(managed),
      PurchasingWallets: CASTS[contract.type].buyers.map(managed),
    }),
  });
  if (!response.ok) {
    throw new Error(`POST /payment-source-extended: ${response.status} ${await response.text()}`);
  }
}

const managed = ({ name, mnemonic }: Wallet) => ({
  walletMnemonic: mnemonic,
  note: name,
  collectionAddress: null,
});

/** Fires the cron one run at a time. The returned function waits for the run in progress. */
function startCron(host: Host): () => Promise<void> {
  const stop = new AbortController();
  const running = (async () => {
    for await (const _ of setInterval(CRON_EVERY_MS, null, { signal: stop.signal })) {
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
