/** Two copies of the service on one local chain: different operators, with keys and databases of their own. */
import { setInterval } from "node:timers/promises";
import { ask } from "../../devnet/client/api.ts";
import { until } from "../../devnet/client/wait.ts";
import { contractOf, templates } from "../../devnet/contracts/index.ts";
import type { Metadatum } from "../../devnet/demo/actors/metadata.ts";
import { publishScripts } from "../../devnet/demo/actors/publish.ts";
import { mintToken } from "../../devnet/demo/actors/registry.ts";
import {
  ACTOR_FUNDS,
  ADMIN,
  BUYERS,
  SELLERS,
  type Wallet,
} from "../../devnet/demo/actors/wallets.ts";
import { type Receiver, startReceiver } from "../../devnet/demo/receiver.ts";
import { type Host, startHost } from "../../devnet/host.ts";
import type { Chain } from "../../devnet/ledger/chain.ts";
import { freshSecrets } from "../../devnet/secrets.ts";
import { type Devnet, startDevnet } from "../../devnet/server/server.ts";
import type { PaymentSourceType } from "../../src/chain/network.ts";
import { EVENT_KINDS } from "../../src/events/kinds.ts";

const BLOCK_MS = 500;
const CRON_MS = 500;
const INBOX = "/events";

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

/** A running copy, with a selling and a purchasing wallet at each contract. */
export class Service {
  readonly host: Host;
  readonly adminKey: string;
  readonly receiver: Receiver;
  /** Whether it answers with the names that clients come with. */
  readonly saysOtherNames: boolean;
  readonly agents = new Map<PaymentSourceType, SoldAgent>();

  constructor(host: Host, adminKey: string, receiver: Receiver, saysOtherNames: boolean) {
    this.host = host;
    this.adminKey = adminKey;
    this.receiver = receiver;
    this.saysOtherNames = saysOtherNames;
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
    return ask<Data>({ url: this.host.url, token: this.adminKey }, method, path, body);
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
    const response = await fetch(`${this.host.url}/api/v1${path}${query}`, {
      method,
      headers: { token, ...(method === "POST" && { "content-type": "application/json" }) },
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
    const services = await Promise.all([
      startOne(devnet, node.url, 0, closers),
      startOne(devnet, node.url, 1, closers),
    ]);
    for (const [place, service] of services.entries()) await settleIn(node.chain, service, place);
    node.mineEvery(BLOCK_MS);
    closers.push(async () => node.mineEvery(null));
    return { chain: node.chain, services, close };
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
  const host = await startHost({
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
    log: () => {},
  });
  closers.push(() => host.close());
  const stop = new AbortController();
  const cron = (async () => {
    for await (const _ of setInterval(CRON_MS, null, { signal: stop.signal }))
      await host.scheduled();
  })().catch((error: unknown) => {
    if (!stop.signal.aborted) throw error;
  });
  closers.push(async () => {
    stop.abort();
    await cron;
  });
  return new Service(host, secrets.ADMIN_KEY, receiver, place === 1);
}

/** Gives a service its payment sources, an agent at each, and a webhook. */
async function settleIn(chain: Chain, service: Service, place: number): Promise<void> {
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
      AdminWallets: [{ walletAddress: ADMIN.address }],
      FeeReceiverNetworkWallet: { walletAddress: ADMIN.address },
      feeRatePermille: 50,
      ...(type === "Web3ChainV2" && { requiredAdminSignatures: 1 }),
      SellingWallets: managed(SELLERS, at),
      PurchasingWallets: managed(BUYERS, at),
    });
    const seller = SELLERS[at];
    if (!seller) throw new Error("there are too few actors");
    const { unit } = mintToken(chain, contract, seller, metadataOf(type, contract.address));
    service.agents.set(type, { agentIdentifier: unit, sellerVkey: seller.vkey, sourceId: id });
  }
  const url = `${service.receiver.url}${INBOX}`;
  await service.admin("POST", "/webhooks", { url, name: "events", Events: EVENT_KINDS });
}

function metadataOf(type: PaymentSourceType, contractAddress: string): Metadatum {
  const common = {
    name: "Translator",
    description: "Translates texts",
    api_base_url: "https://agent.example.com",
    author: { name: "An author" },
    capability: { name: "translation", version: "1.0.0" },
    tags: ["text"],
    image: "ipfs://image",
  };
  const price = "5000000";
  if (type === "Web3ChainV1")
    return {
      ...common,
      metadata_version: "1",
      agentPricing: { pricingType: "Fixed", fixedPricing: [{ unit: [], amount: price }] },
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
        pricing: { pricingType: "Fixed", fixed: [{ asset: [], amount: price }] },
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
