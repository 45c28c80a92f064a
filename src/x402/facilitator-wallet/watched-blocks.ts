import { FINALITY_BLOCKS, FINALITY_TIMEOUT_MS } from "../evm/finality.ts";
import type { Rpc } from "../evm/rpc.ts";
import { type ChainSnapshot, readBlockHashes } from "../evm/transactions.ts";
import type { StoredJob } from "./stored-job.ts";
import type { WalletStore } from "./wallet-store.ts";

/** Whether a block is deep or old enough to be final. */
export function hasFinality(chain: ChainSnapshot, block: number, since: number): boolean {
  return chain.blockNumber - block >= FINALITY_BLOCKS || Date.now() - since > FINALITY_TIMEOUT_MS;
}

/**
 * Hashes of the blocks that decided jobs, by height. Blocks name their parents, so those that were on the
 * chain together are still on it when the highest is. Final ones are read once more.
 */
export async function readWatchedBlocks(
  store: Pick<WalletStore, "watchedBlocks">,
  rpc: Rpc,
  chain: ChainSnapshot,
  watched: readonly Pick<StoredJob, "block" | "blockHash" | "changedAt">[],
): Promise<ReadonlyMap<number, string | null>> {
  const heights = [...new Set(watched.flatMap(({ block }) => block ?? []))];
  const isFirst = store.watchedBlocks.size === 0;
  const highest = Math.max(...store.watchedBlocks.keys());
  const known = new Map([...store.watchedBlocks, [chain.blockNumber, chain.blockHash]]);
  const unknown = watched.flatMap(({ block, blockHash, changedAt }) =>
    block === null || (known.get(block) === blockHash && !hasFinality(chain, block, changedAt))
      ? []
      : block,
  );
  const read = await readBlockHashes(rpc, [...new Set(isFirst ? unknown : [highest, ...unknown])]);
  const isReorganized = !isFirst && read.get(highest) !== store.watchedBlocks.get(highest);
  const found = isReorganized
    ? await readBlockHashes(rpc, heights)
    : new Map<number, string | null>([...known, ...read]);
  store.watchedBlocks = new Map(
    heights.flatMap((height): [number, string][] => {
      const hash = found.get(height) ?? null;
      return hash === null ? [] : [[height, hash]];
    }),
  );
  return found;
}
