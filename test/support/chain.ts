import { env } from "cloudflare:workers";
import { askProvider, control } from "../../devnet/client/chain.ts";
import type { ForeignSignature } from "./foreign-wallet.ts";

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

export interface ChainOptions {
  autoMine?: boolean;
  funds?: { address: string; lovelace: string }[];
  begins?: number;
  clock?: "runs" | "stands";
  limits?: Record<string, number>;
}

/** A block as the chain's controls tell it. */
export interface ToldBlock {
  height: number;
  hash: string;
  slot: number;
  /** Unix seconds. */
  time: number;
  /** Hashes of its transactions, in their order. */
  txs: string[];
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
   * @param autoMine - whether each transaction gets a separate block at once
   * @param funds - genesis outputs, minor units. Default: every wallet has plenty.
   * @param begins - the chain's first time, epoch milliseconds. Default: now.
   * @param clock - `runs`, or stops between explicit moves. Default: `runs`.
   * @param limits - below the network's; see devnet/ledger/limits.ts
   */
  static async create(options: ChainOptions = {}): Promise<TestChain> {
    const { name, url } = await control<{ name: string; url: string }>(env.DEVNET_URL, "create", {
      autoMine: true,
      ...options,
    });
    return new TestChain(name, url);
  }

  /** What the provider answers to a GET, whatever its status. */
  async get<T>(path: string): Promise<T> {
    return (await askProvider<T>(this.url, path)).body;
  }

  /** Plays steps with real transactions; see devnet/demo/actors/steps.ts. */
  act(steps: Record<string, unknown>[]): Promise<StepResult[]> {
    return this.#control("act", { steps });
  }

  wallets(): Promise<{
    wallets: ChainWallet[];
    contracts: ChainContract[];
    templates: ChainTemplates;
    /** The contract without rules. */
    open: ChainContract;
  }> {
    return this.#control("wallets", {});
  }

  /** Has the wallet of a third party sign with its words; see test/support/foreign-wallet.ts. */
  sign(mnemonic: string, what: { data: string } | { transaction: string }) {
    return this.#control<ForeignSignature>("sign", { mnemonic, ...what });
  }

  tip(): Promise<ToldBlock> {
    return this.#control("tip", {});
  }

  /**
   * Makes blocks; the first contains the mempool's transactions that fit.
   *
   * @param at - sets the chain's clock first, epoch milliseconds
   * @param node - owner of the mempool. Default: 0.
   * @param failed - hashes of transactions whose scripts fail in the first block
   * @returns the new tip
   */
  mine(
    blocks = 1,
    options: { at?: number; node?: number; failed?: string[] } = {},
  ): Promise<ToldBlock> {
    return this.#control("mine", { blocks, ...options });
  }

  /** Makes a block every so many milliseconds from now on; null: no longer. */
  async mineEvery(everyMs: number | null): Promise<void> {
    await this.#control("blocks", { everyMs });
  }

  /** Makes blocks only when told to from now on, and none for a transaction. */
  async holdBlocks(): Promise<void> {
    await this.mineEvery(24 * 60 * 60_000);
    await this.mineEvery(null);
  }

  /** Hashes of what waits in a node's mempool, in its order. */
  async mempool(node = 0): Promise<string[]> {
    return (await this.#control<{ hashes: string[] }>("mempool", { node })).hashes;
  }

  /** Drops transactions and their descendants from a node's mempool; default all. */
  async evict(hashes?: string[], node = 0): Promise<string[]> {
    const { hashes: dropped } = await this.#control<{ hashes: string[] }>("evict", {
      node,
      ...(hashes && { hashes }),
    });
    return dropped;
  }

  /** Has every node hear of what waits in the mempools of the others. */
  async gossip(): Promise<void> {
    await this.#control("gossip", {});
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

  /**
   * Moves the chain's clock to a time, epoch milliseconds, then lets it run on or stand.
   *
   * @returns its time
   */
  async setClock(change: { at?: number; kind?: "runs" | "stands" }): Promise<number> {
    return (await this.#control<{ now: number }>("clock", change)).now;
  }

  /** Replaces all faults of the provider; see devnet/server/faults.ts. */
  async faults(...rules: Record<string, unknown>[]): Promise<void> {
    await this.#control("faults", { rules });
  }

  /** Calls to the provider since the last time, by path. */
  stats(): Promise<{ calls: Record<string, number>; total: number }> {
    return this.#control("stats", { reset: true });
  }

  #control<T>(action: string, body: unknown): Promise<T> {
    return control(env.DEVNET_URL, `${this.name}/${action}`, body);
  }
}
