import type { Block, TransactionPosition } from "../../src/chain/provider/provider.ts";
import type { BlockProvider } from "../../src/indexer/checkpoints.ts";

/** A transaction as the chain lists it. */
export interface Listed {
  txHash: string;
  blockHeight: number;
  txIndex: number;
}

interface ChainBlock extends Block {
  transactions: string[];
}

/** A chain of blocks that hold nothing but names of transactions, and its provider. */
export class FakeChain {
  /** Left out of listings. */
  readonly hidden = new Set<string>();
  #blocks: ChainBlock[] = [];
  #made = 0;

  /** Adds blocks, each with the transactions of that name. */
  grow(...blocks: string[][]): void {
    for (const transactions of blocks) {
      const height = this.#blocks.length;
      this.#blocks = [
        ...this.#blocks,
        { height, hash: `block-${this.#made++}`, slot: height, time: height, transactions },
      ];
    }
  }

  /** Takes blocks back, and returns the chain as it was, for `switchTo`. */
  cut(blocks: number): ChainBlock[] {
    const before = this.#blocks;
    this.#blocks = before.slice(0, Math.max(before.length - blocks, 1));
    return before;
  }

  switchTo(blocks: ChainBlock[]): void {
    this.#blocks = blocks;
  }

  get tip(): Block {
    const tip = this.#blocks.at(-1);
    if (tip === undefined) throw new Error("the chain has no block");
    return tip;
  }

  get height(): number {
    return this.tip.height;
  }

  /** All transactions, in order. */
  transactions(): Listed[] {
    return this.#blocks.flatMap(({ height, transactions }) =>
      transactions.map((txHash, txIndex) => ({ txHash, blockHeight: height, txIndex })),
    );
  }

  /** Those that the provider lists from a height on. */
  list(from: number): Listed[] {
    return this.transactions().filter(
      ({ txHash, blockHeight }) => blockHeight >= from && !this.hidden.has(txHash),
    );
  }

  readonly provider: BlockProvider = {
    block: async (height) => this.#blocks.find((one) => one.height === height) ?? null,
    transaction: async (hash): Promise<TransactionPosition | null> => {
      const found = this.transactions().find(({ txHash }) => txHash === hash);
      const block = found && this.#blocks[found.blockHeight];
      if (found === undefined || block === undefined) return null;
      const { blockHeight, txIndex } = found;
      const { time: blockTime, hash: blockHash } = block;
      return { hash, blockHash, blockHeight, txIndex, blockTime, validContract: true };
    },
  };
}
