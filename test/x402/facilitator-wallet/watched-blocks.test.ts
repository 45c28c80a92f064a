import fc from "fast-check";
import { expect, it } from "vitest";
import type { Rpc, RpcCall } from "../../../src/x402/evm/rpc.ts";
import type { ChainSnapshot } from "../../../src/x402/evm/transactions.ts";
import {
  hasFinality,
  readWatchedBlocks,
} from "../../../src/x402/facilitator-wallet/watched-blocks.ts";
import { runs } from "../../support/effort.ts";

/** A node whose chain is rolled back, and which counts the blocks that it is asked for. */
class Node {
  readonly #hashes: string[] = [];
  #blocks = 0;
  asked = 0;

  constructor() {
    this.mine(30);
  }

  mine(count: number): void {
    for (let i = 0; i < count; i++)
      this.#hashes.push(`0x${(++this.#blocks).toString(16).padStart(64, "0")}`);
  }

  /** Replaces the last blocks by as many others. */
  reorganize(depth: number): void {
    this.#hashes.splice(-depth);
    this.mine(depth);
  }

  hashOf(height: number): string | null {
    return this.#hashes[height] ?? null;
  }

  get head() {
    const blockNumber = this.#hashes.length - 1;
    return { blockNumber, blockHash: this.hashOf(blockNumber) } as ChainSnapshot;
  }

  get rpc(): Rpc {
    const answer = ({ params: [height] }: RpcCall) => {
      this.asked++;
      const hash = this.hashOf(Number(height));
      return hash && { number: height, hash, timestamp: "0x1" };
    };
    return { callBatch: async (calls: readonly RpcCall[]) => calls.map(answer) } as unknown as Rpc;
  }
}

const step = fc.oneof(
  fc.record({ what: fc.constant("settle" as const), depth: fc.nat({ max: 3 }) }),
  fc.record({ what: fc.constant("mine" as const), depth: fc.integer({ min: 1, max: 4 }) }),
  fc.record({ what: fc.constant("reorganize" as const), depth: fc.integer({ min: 1, max: 8 }) }),
  fc.record({ what: fc.constant("watch" as const), depth: fc.constant(0) }),
);

it("a wallet notices each decided payment whose block is no longer on the chain", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
      const node = new Node();
      const store = { watchedBlocks: new Map<number, string>() };
      let jobs: { block: number; blockHash: string; changedAt: number }[] = [];
      for (const { what, depth } of [...steps, { what: "watch" as const, depth: 0 }]) {
        const { head } = node;
        if (what === "mine") node.mine(depth);
        if (what === "reorganize") node.reorganize(depth);
        if (what === "settle") {
          const block = head.blockNumber - depth;
          jobs.push({ block, blockHash: node.hashOf(block) ?? "", changedAt: Date.now() });
        }
        if (what !== "watch") continue;
        const found = await readWatchedBlocks(store, node.rpc, head, jobs);
        for (const { block, blockHash } of jobs)
          expect(found.get(block) === blockHash).toBe(node.hashOf(block) === blockHash);
        jobs = jobs.filter(
          ({ block, blockHash, changedAt }) =>
            node.hashOf(block) === blockHash && !hasFinality(head, block, changedAt),
        );
      }
    }),
    runs(300, 20_000),
  );
});

it("a wallet that settles one payment a block asks for at most two blocks each time", async () => {
  const node = new Node();
  const store = { watchedBlocks: new Map<number, string>() };
  const jobs = [];
  for (let payment = 0; payment < 10; payment++) {
    node.mine(1);
    const { head } = node;
    jobs.push({ block: head.blockNumber, blockHash: head.blockHash, changedAt: Date.now() });
    node.asked = 0;
    await readWatchedBlocks(store, node.rpc, head, jobs);
    expect(node.asked).toBeLessThanOrEqual(2);
  }
});
