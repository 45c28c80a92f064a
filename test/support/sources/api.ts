import { env } from "cloudflare:workers";
import { app } from "../app.ts";
import { type ChainContract, type ChainWallet, TestChain } from "../chain.ts";

const PATH = "/api/v1/payment-source-extended/";

export interface Answer {
  status: number;
  headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: the assertions are what checks the answer's shape
  data: any;
  message: string | undefined;
  field: string | undefined;
}

interface AskOptions {
  headers?: Record<string, string>;
  /** Bindings and variables laid over those of the tests. */
  env?: object;
}

/** A `SOURCE_CURSOR` whose objects do nothing but this when they are woken. */
export function cursors(tick: (sourceId: string) => Promise<void>): object {
  return { SOURCE_CURSOR: { idFromName: (name: string) => name, get: () => ({ tick }) } };
}

/** `/payment-source-extended` with a local chain for its provider, as an administrator asks it. */
export class SourceApi {
  /** Ids of the sources whose cursor was woken. The pass itself is tested with the sync. */
  readonly woken: string[] = [];
  readonly contracts: ChainContract[];
  /** Hash of a transaction of the V1 contract. */
  readonly lockHash: string;
  readonly chain: TestChain;
  readonly #wallets: ChainWallet[];

  private constructor(
    chain: TestChain,
    cast: { wallets: ChainWallet[]; contracts: ChainContract[] },
    lockHash: string,
  ) {
    this.chain = chain;
    this.#wallets = cast.wallets;
    this.contracts = cast.contracts;
    this.lockHash = lockHash;
  }

  static async open(): Promise<SourceApi> {
    const chain = await TestChain.create();
    const [lock] = await chain.act([{ do: "lock", as: "a", version: "Web3ChainV1" }]);
    return new SourceApi(chain, await chain.wallets(), lock?.txHash ?? "");
  }

  /** The variable that makes the local chain the provider. */
  provider() {
    return { BLOCKFROST_URL_PREPROD: this.chain.url };
  }

  contract(type: ChainContract["type"] = "Web3ChainV1"): ChainContract {
    return pick(this.contracts, (one) => one.type === type);
  }

  wallet(name: string): ChainWallet {
    return pick(this.#wallets, (one) => one.name === name);
  }

  /** A POST's body without managed wallets. */
  body(overrides: object = {}): object {
    return {
      network: "Preprod",
      smartContractAddress: this.contract().address,
      policyId: this.contract().policyId,
      PaymentSourceConfig: { rpcProviderApiKey: "provider-key-1", rpcProvider: "Blockfrost" },
      AdminWallets: [{ walletAddress: this.wallet("seller-0").address }],
      feeRatePermille: 50,
      FeeReceiverNetworkWallet: { walletAddress: this.wallet("seller-0").address },
      ...overrides,
    };
  }

  purchasing() {
    const { mnemonic } = this.wallet("buyer-0");
    return {
      PurchasingWallets: [{ walletMnemonic: mnemonic, note: "buys", collectionAddress: null }],
    };
  }

  selling() {
    const { mnemonic } = this.wallet("seller-0");
    const collectionAddress = this.wallet("buyer-0").address;
    return { SellingWallets: [{ walletMnemonic: mnemonic, note: "sells", collectionAddress }] };
  }

  /** What a second source may have beside one of `selling` or `purchasing`. */
  elsewhere() {
    const { mnemonic } = this.wallet("seller-1");
    return {
      smartContractAddress: this.contract("Web3ChainV2").address,
      SellingWallets: [{ walletMnemonic: mnemonic, note: "sells elsewhere" }],
    };
  }

  create(overrides: object = {}, options: AskOptions = {}): Promise<Answer> {
    return this.#ask("POST", "", this.body(overrides), options);
  }

  update(body: object, options: AskOptions = {}): Promise<Answer> {
    return this.#ask("PATCH", "", body, options);
  }

  /** @param force - whether what is not finished is given up */
  remove(id: string, options: AskOptions = {}, force = false): Promise<Answer> {
    return this.#ask("DELETE", "", { id, ...(force && { force }) }, options);
  }

  list(query = ""): Promise<Answer> {
    return this.#ask("GET", query, null, {});
  }

  #ask(method: string, query: string, body: object | null, options: AskOptions): Promise<Answer> {
    return this.ask(method, `${PATH}${query}`, body, options);
  }

  /** Asks any endpoint, with this chain for the provider. */
  async ask(
    method: string,
    path: string,
    body: object | null = null,
    options: AskOptions = {},
  ): Promise<Answer> {
    const answer = await this.#request(method, path, body, options);
    const json = (await answer.json()) as {
      data?: unknown;
      error?: { message: string; field?: string };
    };
    return {
      status: answer.status,
      headers: answer.headers,
      data: json.data,
      message: json.error?.message,
      field: json.error?.field,
    };
  }

  /** The text of an answer. */
  async text(path: string, options: AskOptions = {}): Promise<string> {
    return (await this.#request("GET", path, null, options)).text();
  }

  async #request(method: string, path: string, body: object | null, options: AskOptions) {
    const recording = cursors(async (sourceId) => {
      this.woken.push(sourceId);
    });
    return app.request(
      path,
      {
        method,
        headers: { token: env.ADMIN_KEY ?? "", ...options.headers },
        ...(body && { body: JSON.stringify(body) }),
      },
      { ...env, ...this.provider(), ...recording, ...options.env },
    );
  }
}

function pick<T>(items: T[], wanted: (item: T) => boolean): T {
  const found = items.find(wanted);
  if (!found) throw new Error("the local chain lacks what the test needs");
  return found;
}

export async function count(table: string): Promise<number> {
  return (await env.DB.prepare(`SELECT count(*) AS n FROM ${table}`).first<number>("n")) ?? 0;
}

/** All that requests about sources write, as text. */
export async function storedSources(): Promise<string> {
  const tables = ["payment_source", "managed_wallet", "audit", "idempotency", "source_cursor"];
  const rows = await Promise.all(
    tables.map((table) => env.DB.prepare(`SELECT * FROM ${table}`).all()),
  );
  return JSON.stringify(rows.map(({ results }) => results));
}

/** Has the provider key of a source sealed with a key that nobody has any more. */
export async function loseProviderKey(sourceId: string): Promise<void> {
  await env.DB.prepare("UPDATE payment_source SET rpc_provider_api_key = ? WHERE id = ?")
    .bind("v1.lost.AAAA", sourceId)
    .run();
}
