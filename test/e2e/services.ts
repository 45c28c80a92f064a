/** Two copies of the service on one local chain: different operators, with keys and databases of their own. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setInterval } from "node:timers/promises";
import { ask } from "../../devnet/client/api.ts";
import { until } from "../../devnet/client/wait.ts";
import { contractOf, templates } from "../../devnet/contracts/index.ts";
import { TERMS } from "../../devnet/contracts/terms.ts";
import type { Metadatum } from "../../devnet/demo/actors/metadata.ts";
import { publishScripts } from "../../devnet/demo/actors/publish.ts";
import { mintToken, sendToken } from "../../devnet/demo/actors/registry.ts";
import {
  ACTOR_FUNDS,
  ADMIN,
  BUYERS,
  SELLERS,
  STRANGER,
  type Wallet,
} from "../../devnet/demo/actors/wallets.ts";
import { type Receiver, startReceiver } from "../../devnet/demo/receiver.ts";
import { type Host, type HostOptions, startHost } from "../../devnet/host.ts";
import type { Chain } from "../../devnet/ledger/chain.ts";
import { freshSecrets } from "../../devnet/secrets.ts";
import { type Devnet, startDevnet } from "../../devnet/server/server.ts";
import type { PaymentSourceType } from "../../src/chain/network.ts";
import { EVENT_KINDS } from "../../src/events/event-kinds.ts";

const BLOCK_MS = 500;
const CRON_MS = 500;
const INBOX = "/events";
/** The purchasing wallet of the second service at Web3ChainV2. */
const BUYER_OF_TOKENS = 3;

/** An answer with its status, as clients look at it. */
export interface Answer {
  status: number;
  // biome-ignore lint/suspicious/noExplicitAny: the conversations are what checks the answer's shape
  json: any;
}

/** An agent that a service sells. */
export interface SoldAgent {
  agentIdentifier: string;
  sellerVkey: string;
  sourceId: string;
}

/** Of a service: what its platform runs. */
class Running {
  readonly #options: HostOptions;
  #host: Host | null = null;
  #stopCron: () => Promise<void> = async () => {};

  constructor(options: HostOptions) {
    this.#options = options;
  }

  get url(): string {
    if (!this.#host) throw new Error("the service does not run");
    return this.#host.url;
  }

  async start(): Promise<void> {
    const host = await startHost(this.#options);
    this.#host = host;
    const stop = new AbortController();
    const cron = (async () => {
      for await (const _ of setInterval(CRON_MS, null, { signal: stop.signal }))
        await host.scheduled();
    })().catch((error: unknown) => {
      if (!stop.signal.aborted) throw error;
    });
    this.#stopCron = async () => {
      stop.abort();
      await cron;
    };
  }

  async stop(): Promise<void> {
    await this.#stopCron();
    await this.#host?.close();
    this.#host = null;
  }
}

/** A running copy, with a selling and a purchasing wallet at each contract. */
export class Service {
  readonly #running: Running;
  readonly adminKey: string;
  readonly receiver: Receiver;
  /** Whether it answers with the names that clients come with. */
  readonly saysOtherNames: boolean;
  readonly agents = new Map<PaymentSourceType, SoldAgent>();
  /** An agent of Web3ChainV2 that is paid in another currency. */
  priced: SoldAgent | null = null;

  constructor(running: Running, adminKey: string, receiver: Receiver, saysOtherNames: boolean) {
    this.#running = running;
    this.adminKey = adminKey;
    this.receiver = receiver;
    this.saysOtherNames = saysOtherNames;
  }

  /** Stops the service, and starts it again from what it has stored once something is done meanwhile. */
  async whileStopped(doing: () => Promise<void>): Promise<void> {
    await this.#running.stop();
    await doing();
    await this.#running.start();
  }

  /** What it calls a name of the interface, given as clients know it. */
  name(known: string): string {
    return this.saysOtherNames ? known : known.replace("Cardano", "Chain");
  }

  /** The native coin where the provider's own words are passed on. */
  get coin(): string {
    return this.saysOtherNames ? "lovelace" : "";
  }

  agent(type: PaymentSourceType): SoldAgent {
    const agent = this.agents.get(type);
    if (!agent) throw new Error(`no agent of ${type}`);
    return agent;
  }

  admin<Data>(method: "GET" | "POST" | "PATCH", path: string, body?: object): Promise<Data> {
    return ask<Data>({ url: this.#running.url, token: this.adminKey }, method, path, body);
  }

  /** A new key with +PAY access. */
  async key(fields: object = {}): Promise<{ id: string; token: string }> {
    return this.admin("POST", "/api-key", { canPay: true, ...fields });
  }

  /** Asks as a client does, which sends nothing but what its documentation says. */
  async call(
    token: string,
    method: "GET" | "POST",
    path: string,
    fields: Record<string, unknown> = {},
  ): Promise<Answer> {
    const query =
      method === "GET" ? `?${new URLSearchParams(fields as Record<string, string>)}` : "";
    // The runtime ends what was idle for seconds, on a busy machine just as it is used again.
    const own = { token, connection: "close" };
    const response = await fetch(`${this.#running.url}/api/v1${path}${query}`, {
      method,
      headers: { ...own, ...(method === "POST" && { "content-type": "application/json" }) },
      ...(method === "POST" && { body: JSON.stringify(fields) }),
    });
    return { status: response.status, json: await response.json() };
  }

  /** What webhooks have told of an escrow, oldest first. */
  told(blockchainIdentifier: string): { type: string; data: Record<string, unknown> }[] {
    return this.receiver
      .arrivals(INBOX)
      .map(({ body }) => JSON.parse(body))
      .filter(({ data }) => data.blockchainIdentifier === blockchainIdentifier)
      .sort((one, other) => one.sequence - other.sequence);
  }
}

export interface TwoServices {
  chain: Chain;
  /** The first says the interface's names, the second those of clients. */
  services: [Service, Service];
  /** Makes a block in this interval, as at the start; null: only on request. */
  mineEvery(milliseconds: number | null): void;
  close(): Promise<void>;
}

export async function startTwoServices(): Promise<TwoServices> {
  const closers: (() => Promise<void>)[] = [];
  const close = async () => {
    for (const closer of closers.splice(0).reverse()) await closer();
  };
  try {
    const devnet = await startDevnet();
    closers.push(() => devnet.close());
    const node = devnet.createChain("two", { funds: ACTOR_FUNDS, autoMine: true });
    publishScripts(node.chain);
    const currency = mintToken(node.chain, contractOf("Web3ChainV1", "open"), STRANGER, {});
    for (const buyer of BUYERS.slice(BUYER_OF_TOKENS, BUYER_OF_TOKENS + 1))
      sendToken(node.chain, currency, buyer);
    const services = await Promise.all([
      startOne(devnet, node.url, 0, closers),
      startOne(devnet, node.url, 1, closers),
    ]);
    for (const [place, service] of services.entries())
      await settleIn(node.chain, service, place, currency.unit);
    node.mineEvery(BLOCK_MS);
    closers.push(async () => node.mineEvery(null));
    return { chain: node.chain, services, mineEvery: (every) => node.mineEvery(every), close };
  } catch (error) {
    await close();
    throw error;
  }
}

async function startOne(
  devnet: Devnet,
  chainUrl: string,
  place: number,
  closers: (() => Promise<void>)[],
): Promise<Service> {
  const receiver = await startReceiver();
  closers.push(() => receiver.close());
  const secrets = freshSecrets();
  const persistTo = mkdtempSync(join(tmpdir(), "two-services-"));
  closers.push(async () => rmSync(persistTo, { recursive: true, force: true }));
  const running = new Running({
    bindings: {
      ...secrets,
      BLOCKFROST_URL_PREPROD: chainUrl,
      CONTRACT_TEMPLATES: JSON.stringify(templates()),
      LOOPBACK_ORIGINS: [devnet.url, receiver.url].join(),
      PROVIDER_CALLS_PER_SECOND: "1000",
      CHAIN_CLOCK: "tip",
      ...(place === 1 && { WIRE_NAMES: "cardano" }),
    },
    rateLimits: false,
    persistTo,
    log: () => {},
  });
  closers.push(() => running.stop());
  await running.start();
  return new Service(running, secrets.ADMIN_KEY, receiver, place === 1);
}

/** Gives a service its payment sources, an agent at each, and a webhook. */
async function settleIn(
  chain: Chain,
  service: Service,
  place: number,
  currency: string,
): Promise<void> {
  const managed = (all: readonly Wallet[], at: number) =>
    all.slice(at, at + 1).map(({ mnemonic }) => ({ walletMnemonic: mnemonic }));
  for (const [i, type] of (["Web3ChainV1", "Web3ChainV2"] as const).entries()) {
    const contract = contractOf(type);
    const at = 2 * i + place;
    const { id } = await service.admin<{ id: string }>("POST", "/payment-source-extended", {
      network: "Preprod",
      paymentSourceType: type,
      smartContractAddress: contract.address,
      policyId: contract.policy.hash,
      PaymentSourceConfig: { rpcProviderApiKey: "local-chain", rpcProvider: "Blockfrost" },
      AdminWallets: TERMS[type].adminVkeys.map(() => ({ walletAddress: ADMIN.address })),
      FeeReceiverNetworkWallet: { walletAddress: ADMIN.address },
      feeRatePermille: 50,
      requiredAdminSignatures: TERMS[type].requiredAdminSignatures,
      SellingWallets: managed(SELLERS, at),
      PurchasingWallets: managed(BUYERS, at),
    });
    const seller = SELLERS[at];
    if (!seller) throw new Error("there are too few actors");
    const sold = (price: Price): SoldAgent => {
      const metadata = metadataOf(type, contract.address, price);
      const { unit } = mintToken(chain, contract, seller, metadata);
      return { agentIdentifier: unit, sellerVkey: seller.vkey, sourceId: id };
    };
    service.agents.set(type, sold({ unit: "", amount: "5000000" }));
    if (type === "Web3ChainV2") service.priced = sold({ unit: currency, amount: "1" });
  }
  const url = `${service.receiver.url}${INBOX}`;
  await service.admin("POST", "/webhooks", { url, name: "events", Events: EVENT_KINDS });
}

interface Price {
  unit: string;
  /** Minor units. */
  amount: string;
}

function metadataOf(
  type: PaymentSourceType,
  contractAddress: string,
  { unit, amount }: Price,
): Metadatum {
  const common = {
    name: "Translator",
    description: "Translates texts",
    api_base_url: "https://agent.example.com",
    author: { name: "An author" },
    capability: { name: "translation", version: "1.0.0" },
    tags: ["text"],
    image: "ipfs://image",
  };
  // A text of metadata has at most 64 bytes.
  const asset = unit === "" ? [] : [unit.slice(0, 56), unit.slice(56)];
  if (type === "Web3ChainV1")
    return {
      ...common,
      metadata_version: "1",
      agentPricing: { pricingType: "Fixed", fixedPricing: [{ unit: asset, amount }] },
    };
  return {
    ...common,
    metadata_version: "2",
    supported_payment_sources: [
      {
        chain: "Cardano",
        network: "Preprod",
        settlement: {
          paymentSourceType: "Web3CardanoV2",
          address: [contractAddress.slice(0, 60), contractAddress.slice(60)],
        },
        pricing: { pricingType: "Fixed", fixed: [{ asset, amount }] },
      },
    ],
  };
}

/** Waits for what an answer shows, as a client that polls. */
export function poll(
  what: string,
  look: () => Promise<Answer>,
  shows: (answer: Answer) => boolean,
): Promise<Answer> {
  return until(
    async () => {
      const answer = await look();
      return shows(answer) && answer;
    },
    { what, everyMs: 250 },
  );
}
