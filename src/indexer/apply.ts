import type { Block, TransactionPosition } from "../chain/provider/provider.ts";
import { requireStanding, writeCheckpoint } from "./checkpoints.ts";
import { StaleRecord } from "./cursor.ts";
import type { Follower } from "./follower.ts";
import { mergeRecent, type Position } from "./position.ts";

/** Batches that lose a record to another writer before the pass is left to its next alarm. */
const ATTEMPTS = 5;

/**
 * Applies as many of the transactions as fit one batch and the time until `deadline`, but at least one.
 * It commits them, and returns the others. When a batch loses a record to another writer, the same
 * reads are folded again. The chain is the same, so the provider is not asked again.
 *
 * @param deadline - epoch milliseconds
 * @throws ProviderError, ProviderBehind, StaleCursor, StaleRecord, DatabaseUnavailable
 */
export async function applyRun<P extends Position, Read, Changes>(
  follower: Follower<P, unknown, Read, Changes>,
  tip: Block,
  reads: Read[],
  deadline: number,
): Promise<Read[]> {
  const { provider, cursor } = follower;
  const blocks = new Map<Read, TransactionPosition>();
  for (let attempt = 1; ; attempt++) {
    const { changes, done } = await fold(follower, tip, reads, deadline);
    const last = done.at(-1);
    if (last === undefined) return [];
    const block = blocks.get(last) ?? (await follower.blockOf(last));
    if (!blocks.has(last)) await requireStanding(provider, block, tip);
    blocks.set(last, block);
    const recent = mergeRecent(cursor.recent, done.map(follower.positionOf));
    try {
      await follower.commit(changes, recent, writeCheckpoint(cursor.sourceId, block, tip), done);
      return reads.slice(done.length);
    } catch (error) {
      if (!(error instanceof StaleRecord) || attempt === ATTEMPTS) throw error;
    }
  }
}

/** What the first of the transactions do to the records as they are now. */
async function fold<P extends Position, Read, Changes>(
  follower: Follower<P, unknown, Read, Changes>,
  tip: Block,
  reads: Read[],
  deadline: number,
): Promise<{ changes: Changes; done: Read[] }> {
  const changes = await follower.load(reads, tip);
  const done: Read[] = [];
  for (const read of reads) {
    if (!(await follower.apply(changes, read, done.length === 0 ? null : deadline))) break;
    done.push(read);
    if (follower.isFull(changes) || follower.now() >= deadline) break;
  }
  return { changes, done };
}
