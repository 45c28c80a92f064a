import { env } from "cloudflare:workers";

/** A wallet of the local chain, as `POST /_control/{chain}/wallets` tells it. */
export interface ChainWallet {
  name: string;
  mnemonic: string;
  address: string;
  vkey: string;
}

/** What `CONTRACT_TEMPLATES` says on the local chain. */
export type ChainTemplates = Record<ChainContract["type"], { escrow: string; policy: string }>;

export interface ChainContract {
  type: "Web3ChainV1" | "Web3ChainV2";
  address: string;
  policyId: string;
}

/** What became of a step: the transaction, and the escrows it touched. */
export interface StepResult {
  txHash: string;
  blockHeight: number;
  escrows: { as?: string; identifier: string; index: number | null; state: string }[];
  /** Policy id and asset name of the token that was minted. */
  unit?: string;
  /** Of several tokens minted at once. */
  units?: string[];
}

/** A chain of the test's own on the local chain's server, and its provider's API at `url`. */
export class TestChain {
  readonly name: string;
  readonly url: string;

  private constructor(name: string, url: string) {
    this.name = name;
    this.url = url;
  }

  /**
   * @param autoMine - whether each transaction gets a block of its own at once
   * @param funds - genesis outputs, minor units as text; default: every actor's wallet has plenty
   */
  static async create(
    options: { autoMine?: boolean; funds?: { address: string; lovelace: string }[] } = {},
  ): Promise<TestChain> {
    const { name, url } = await control<{ name: string; url: string }>("create", {
      autoMine: options.autoMine ?? true,
      ...(options.funds && { funds: options.funds }),
    });
    return new TestChain(name, url);
  }

  /** Plays steps with real transactions; see devnet/actors/steps.ts. */
  act(steps: Record<string, unknown>[]): Promise<StepResult[]> {
    return this.#control("act", { steps });
  }

  wallets(): Promise<{
    wallets: ChainWallet[];
    contracts: ChainContract[];
    templates: ChainTemplates;
  }> {
    return this.#control("wallets", {});
  }

  async mine(blocks = 1): Promise<void> {
    await this.#control("mine", { blocks });
  }

  /** Takes back blocks; with `replay` their transactions come again in new ones. */
  async rollback(blocks: number, replay = false): Promise<string[]> {
    const { transactions } = await this.#control<{ transactions: string[] }>("rollback", {
      blocks,
      replay,
    });
    return transactions;
  }

  async replay(transactions: string[]): Promise<void> {
    await this.#control("replay", { transactions });
  }

  async advance(ms: number): Promise<void> {
    await this.#control("advance", { ms });
  }

  /** Replaces all faults of the provider; see devnet/faults.ts. */
  async faults(...rules: Record<string, unknown>[]): Promise<void> {
    await this.#control("faults", { rules });
  }

  /** Calls to the provider since the last time, by path. */
  stats(): Promise<{ calls: Record<string, number>; total: number }> {
    return this.#control("stats", { reset: true });
  }

  #control<T>(action: string, body: unknown): Promise<T> {
    return control(`${this.name}/${action}`, body);
  }
}

async function control<T>(path: string, body: unknown): Promise<T> {
  const answer = await fetch(`${env.DEVNET_URL}/_control/${path}`, {
    method: "POST",
    body: JSON.stringify(body),
  });
  if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
  return (await answer.json()) as T;
}
