import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { askProvider } from "../../../devnet/client/chain.ts";
import { HotWallet } from "../../../durable-objects/hot-wallet.ts";
import type { Env } from "../../../src/env.ts";
import { app } from "../app.ts";
import { type ChainContract, type ChainOptions, type ChainWallet, TestChain } from "../chain.ts";
import { ASLEEP } from "../objects.ts";

/** The record of an agent's or inbox agent's registration, as far as tests look. */
export interface ShownRegistration {
  id: string;
  state: string;
  error: string | null;
  agentIdentifier: string | null;
  CurrentTransaction: { txHash: string; status: string; confirmations: number | null } | null;
  SmartContractWallet: { walletVkey: string; walletAddress: string };
  [field: string]: unknown;
}

export interface Answer<Data> {
  status: number;
  data: Data;
  message: string;
  /** The whole body. */
  json: Record<string, unknown>;
}

type SourceType = ChainContract["type"];

export interface FixtureOptions {
  type?: SourceType;
  /** Native outputs of `seller-0`, minor units; default: what every actor has. */
  sellerFunds?: number[];
  /** Purchasing wallets of the source by name, with their native outputs in minor units. Default: none. */
  buyers?: Record<string, number[]>;
  /** Whether the chain shows the policy's script. Default: yes. */
  published?: boolean;
  /** When the chain begins, and what its clock does. */
  time?: Pick<ChainOptions, "begins" | "clock">;
}

/** A payment source on a separate chain, its two selling wallets, and an API client. */
export class RegistrationFixture {
  readonly chain: TestChain;
  readonly contract: ChainContract;
  readonly sellers: [ChainWallet, ChainWallet];
  readonly sourceId: string;
  /** Laid over the bindings of the tests. */
  bindings: Partial<Env> = {};

  private constructor(
    chain: TestChain,
    contract: ChainContract,
    sellers: [ChainWallet, ChainWallet],
    sourceId: string,
  ) {
    this.chain = chain;
    this.contract = contract;
    this.sellers = sellers;
    this.sourceId = sourceId;
  }

  static async open(options: FixtureOptions = {}): Promise<RegistrationFixture> {
    const { type = "Web3ChainV1", buyers = {}, published = true, time } = options;
    const hasBuyers = Object.keys(buyers).length > 0;
    const sellerFunds = options.sellerFunds ?? (hasBuyers ? [1e9, 1e9] : undefined);
    const cast = await (await TestChain.create()).wallets();
    const wallet = (name: string) => found(cast.wallets, (one) => one.name === name);
    const contract = found(cast.contracts, (one) => one.type === type);
    const seller = wallet("seller-0");
    const funds = sellerFunds && [
      ...sellerFunds.map((lovelace) => ({ address: seller.address, lovelace: String(lovelace) })),
      ...Object.entries(buyers).flatMap(([name, outputs]) =>
        outputs.map((lovelace) => ({ address: wallet(name).address, lovelace: String(lovelace) })),
      ),
      ...["admin", "seller-1"].flatMap((name) =>
        [1, 2].map(() => ({ address: wallet(name).address, lovelace: "1000000000" })),
      ),
    ];
    const chain = await TestChain.create({ ...time, ...(funds && { funds }) });
    if (published) await chain.act([{ do: "publish" }]);
    const fixture = new RegistrationFixture(chain, contract, [seller, wallet("seller-1")], "");
    const { data } = await fixture.ask<{ id: string }>("POST", "/payment-source-extended", {
      network: "Preprod",
      paymentSourceType: type,
      smartContractAddress: contract.address,
      policyId: contract.policyId,
      PaymentSourceConfig: { rpcProviderApiKey: "local", rpcProvider: "Blockfrost" },
      AdminWallets: [{ walletAddress: seller.address }],
      feeRatePermille: 50,
      ...(type === "Web3ChainV1" && {
        FeeReceiverNetworkWallet: { walletAddress: wallet("admin").address },
      }),
      SellingWallets: fixture.sellers.map(({ mnemonic }) => ({ walletMnemonic: mnemonic })),
      PurchasingWallets: Object.keys(buyers).map((name) => ({
        walletMnemonic: wallet(name).mnemonic,
      })),
    });
    return new RegistrationFixture(chain, contract, fixture.sellers, data.id);
  }

  /** Asks the API, as the administrator unless a token says otherwise. */
  async ask<Data = ShownRegistration>(
    method: string,
    path: string,
    body: object | null = null,
    headers: Record<string, string> = {},
  ): Promise<Answer<Data>> {
    const answer = await app.request(
      `/api/v1${path}`,
      {
        method,
        headers: { token: env.ADMIN_KEY ?? "", ...headers },
        ...(body && { body: JSON.stringify(body) }),
      },
      this.env(),
    );
    const json = (await answer.json()) as { data: Data; error?: { message: string } };
    return {
      status: answer.status,
      data: json.data,
      message: json.error?.message ?? "",
      json: { ...json },
    };
  }

  /** The bindings with this chain for a provider; objects are not woken, tests run them. */
  env(overrides: Partial<Env> = {}): Env {
    return {
      ...env,
      BLOCKFROST_URL_PREPROD: this.chain.url,
      ...ASLEEP,
      ...this.bindings,
      ...overrides,
    };
  }

  /** Has the policy followed as a registry source. @returns its id */
  async followPolicy(): Promise<string> {
    const { data } = await this.ask<{ id: string }>("POST", "/registry-source", {
      network: "Preprod",
      policyId: this.contract.policyId,
      note: null,
      rpcProviderApiKey: "local",
    });
    return data.id;
  }

  register(overrides: object = {}, headers: Record<string, string> = {}) {
    return this.ask("POST", "/registry", this.agent(overrides), headers);
  }

  update(
    agentIdentifier: string | null,
    overrides: object = {},
    headers: Record<string, string> = {},
  ) {
    const body = { ...this.agent(overrides), agentIdentifier };
    return this.ask("POST", "/registry/update", body, headers);
  }

  /** A body of `POST /registry`. */
  agent(overrides: object = {}): object {
    return {
      network: "Preprod",
      sellingWalletVkey: this.sellers[0].vkey,
      name: "An agent",
      description: "Answers questions of any kind, in as many words as it takes — and a few more",
      apiBaseUrl: "https://agent.example.com",
      Tags: ["answers", "text"],
      ExampleOutputs: [{ name: "sample", mimeType: "text/plain", url: "https://example.com/a" }],
      Capability: { name: "answering", version: "1.0.0" },
      Author: { name: "An author", contactEmail: "author@example.com" },
      Legal: { terms: "https://example.com/terms" },
      AgentPricing: { pricingType: "Fixed", Pricing: [{ unit: "", amount: "5000000" }] },
      ...overrides,
    };
  }

  deregister(agentIdentifier: string | null, headers: Record<string, string> = {}) {
    return this.ask("DELETE", "/registry/", { agentIdentifier, network: "Preprod" }, headers);
  }

  /** The record as the list of agents shows it now. */
  async shown(id: string, path = "/registry"): Promise<ShownRegistration> {
    const { data } = await this.ask<{ Assets: ShownRegistration[] }>(
      "GET",
      `${path}?network=Preprod&limit=100`,
    );
    return found(data.Assets, (one) => one.id === id);
  }

  /**
   * Runs one alarm of a wallet's object, without the platform's delay. Code, D1 and provider are
   * real.
   *
   * @returns the time of the next alarm; null: nothing is left to do
   */
  async work(wallet = this.sellers[0], overrides: Partial<Env> = {}): Promise<number | null> {
    const { HOT_WALLET } = env;
    const stub = HOT_WALLET.get(HOT_WALLET.idFromName(`Preprod:${wallet.vkey}`));
    return runInDurableObject(stub, async (_, state) => {
      let alarm: number | null = null;
      const named = { network: "Preprod", vkey: wallet.vkey, requestId: "test" };
      const storage = {
        get: async () => named,
        put: async () => {},
        getAlarm: async () => alarm,
        setAlarm: async (at: number) => {
          alarm = at;
        },
      };
      const instance = new HotWallet(state, this.env(overrides));
      Object.defineProperty(instance, "ctx", { value: { storage } });
      await instance.alarm();
      return alarm;
    });
  }

  /** Lets every pause pass: what waits is due at once. */
  async skipPauses(): Promise<void> {
    await env.DB.prepare("UPDATE wallet_task SET due_at = 0 WHERE due_at IS NOT NULL").run();
    // Automatic steps have their time on the chain. A lock waits a second at most for others.
    await env.DB.prepare(
      `UPDATE escrow SET due_at = 0,
         intent = json_set(json_remove(intent, '$.tryAt'), '$.since', intent->>'since' - 1000)
       WHERE due_at IS NOT NULL AND intent IS NOT NULL`,
    ).run();
  }

  /**
   * Runs a wallet's object until it has nothing left to do. Refused bytes are not made again within
   * the second of their validity, and a quick machine runs many times in it.
   */
  async settle(wallet = this.sellers[0], overrides: Partial<Env> = {}): Promise<void> {
    for (let runs = 0; runs < 1_000; runs++) {
      await this.skipPauses();
      if ((await this.work(wallet, overrides)) === null) return;
    }
    const sql = "SELECT hash, phase FROM wallet_transaction WHERE wallet_vkey = ?";
    const { results } = await env.DB.prepare(sql).bind(wallet.vkey).all();
    const held = await env.DB.prepare("SELECT * FROM hot_wallet").all();
    throw new Error(`the wallet does not come to rest: ${JSON.stringify([results, held.results])}`);
  }

  /** How often the chain saw tokens of the policy minted and burned, and which are left. */
  async tokens(): Promise<{ minted: number; burned: number; held: string[] }> {
    const list = async <Row>(path: string): Promise<Row[]> => {
      const { status, body } = await askProvider<Row[]>(this.chain.url, path);
      return status === 200 ? body : [];
    };
    const assets = await list<{ asset: string; quantity: string }>(
      `/assets/policy/${this.contract.policyId}`,
    );
    let [minted, burned] = [0, 0];
    for (const { asset } of assets)
      for (const { action, amount } of await list<{ action: string; amount: string }>(
        `/assets/${asset}/history`,
      )) {
        if (action === "minted") minted += Number(amount);
        else burned += Number(amount);
      }
    const held = assets.filter(({ quantity }) => quantity !== "0").map(({ asset }) => asset);
    return { minted, burned, held };
  }
}

export function found<T>(items: T[], wanted: (item: T) => boolean): T {
  const item = items.find(wanted);
  if (!item) throw new Error("not there");
  return item;
}

/** What `tokens` says of one registration, of one with an update, and of one that is over. */
export const MINTED_ONCE = { minted: 1, burned: 0 };
export const UPDATED_ONCE = { minted: 2, burned: 1 };
export const BURNED_ONCE = { minted: 1, burned: 1, held: [] };

/** A fixture with one registration requested. */
export async function requested(options?: FixtureOptions) {
  const fixture = await RegistrationFixture.open(options);
  const { id } = (await fixture.register()).data;
  return { fixture, id };
}

/** A fixture with one agent of Web3ChainV2 registered and its update requested. */
export async function updating() {
  const { fixture, id } = await requested({ type: "Web3ChainV2" });
  await fixture.settle();
  await fixture.update((await fixture.shown(id)).agentIdentifier, { name: "Another name" });
  return { fixture, id };
}

/** A fixture with one agent registered and its deregistration requested. */
export async function deregistering() {
  const { fixture, id } = await requested();
  await fixture.settle();
  await fixture.deregister((await fixture.shown(id)).agentIdentifier);
  return { fixture, id };
}
