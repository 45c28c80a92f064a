import type { Block } from "./blocks.ts";
import {
  type LedgerOutput,
  type LedgerScript,
  type LedgerTransaction,
  type OutputReference,
  outputKey,
} from "./transaction.ts";

/** A transaction and where it stands in the chain. */
export interface PlacedTransaction {
  tx: LedgerTransaction;
  block: Block;
  /** Position in the block. */
  index: number;
}

/** An output that a transaction (or the genesis) made, spent or not. */
export interface PlacedOutput {
  txHash: string;
  index: number;
  output: LedgerOutput;
  block: Block;
  consumedBy: string | null;
}

/** What is known of one address or one asset; lists are in chain order. */
export interface Account {
  transactions: PlacedTransaction[];
  unspent: Map<string, PlacedOutput>;
}

export interface AssetAccount extends Account {
  /** Negative quantities are burns. */
  mints: { txHash: string; quantity: bigint }[];
}

export interface GenesisOutput extends OutputReference {
  output: LedgerOutput;
}

/**
 * An index of a series of blocks, and of nothing else. A rollback makes a new view of the remaining blocks, so no
 * entry outlives its block.
 */
export class LedgerView {
  readonly blocks: Block[] = [];
  readonly transactions = new Map<string, PlacedTransaction>();
  readonly outputs = new Map<string, PlacedOutput>();
  readonly addresses = new Map<string, Account>();
  /** Keyed by unit: policy id and asset name in hex. */
  readonly assets = new Map<string, AssetAccount>();
  readonly scripts = new Map<string, LedgerScript>();
  /** Datum CBOR in hex, by its hash. */
  readonly datums = new Map<string, string>();
  readonly #heights = new Map<string, number>();

  constructor(genesis: readonly GenesisOutput[], blocks: readonly [Block, ...Block[]]) {
    const [first, ...rest] = blocks;
    this.#addBlock(first);
    for (const { txHash, index, output } of genesis) {
      this.#addOutput({ txHash, index, output, block: first, consumedBy: null });
    }
    for (const block of rest) this.append(block);
  }

  get tip(): Block {
    const tip = this.blocks.at(-1);
    if (!tip) throw new Error("A view has at least its genesis block");
    return tip;
  }

  block(heightOrHash: number | string): Block | undefined {
    const height =
      typeof heightOrHash === "number" ? heightOrHash : this.#heights.get(heightOrHash);
    return height === undefined ? undefined : this.blocks[height];
  }

  output(reference: OutputReference): PlacedOutput | undefined {
    return this.outputs.get(outputKey(reference));
  }

  append(block: Block): void {
    this.#addBlock(block);
    block.txs.forEach((tx, index) => {
      this.#addTransaction({ tx, block, index });
    });
  }

  #addBlock(block: Block): void {
    this.#heights.set(block.hash, block.height);
    this.blocks.push(block);
  }

  #addTransaction(placed: PlacedTransaction): void {
    const { tx, block } = placed;
    this.transactions.set(tx.hash, placed);
    const touched = new Set<Account>();

    for (const reference of tx.spent) {
      const spent = this.output(reference);
      if (!spent) throw new Error(`Output ${outputKey(reference)} is spent before it exists`);
      spent.consumedBy = tx.hash;
      for (const account of this.#accountsOf(spent.output)) {
        account.unspent.delete(outputKey(reference));
        touched.add(account);
      }
    }
    for (const { index, output } of tx.produced) {
      const produced = { txHash: tx.hash, index, output, block, consumedBy: null };
      for (const account of this.#addOutput(produced)) touched.add(account);
    }
    for (const { unit, quantity } of tx.isValid ? tx.mint : []) {
      const asset = this.#asset(unit);
      asset.mints.push({ txHash: tx.hash, quantity });
      touched.add(asset);
    }
    for (const account of touched) account.transactions.push(placed);
    for (const script of tx.scripts) this.scripts.set(script.hash, script);
    for (const datum of tx.datums) this.datums.set(datum.hash, datum.cbor);
  }

  #addOutput(placed: PlacedOutput): Account[] {
    const key = outputKey(placed);
    this.outputs.set(key, placed);
    const accounts = this.#accountsOf(placed.output);
    for (const account of accounts) account.unspent.set(key, placed);
    return accounts;
  }

  #accountsOf(output: LedgerOutput): Account[] {
    let address = this.addresses.get(output.address);
    if (!address) {
      address = { transactions: [], unspent: new Map() };
      this.addresses.set(output.address, address);
    }
    const assets = output.amount.filter(({ unit }) => unit !== "lovelace");
    return [address, ...assets.map(({ unit }) => this.#asset(unit))];
  }

  #asset(unit: string): AssetAccount {
    let asset = this.assets.get(unit);
    if (!asset) {
      asset = { transactions: [], unspent: new Map(), mints: [] };
      this.assets.set(unit, asset);
    }
    return asset;
  }
}
