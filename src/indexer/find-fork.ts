import type { Block, TransactionPosition } from "../chain/provider/provider.ts";
import {
  type BlockProvider,
  type Checkpoint,
  ProviderBehindError,
  requireSameChain,
} from "./checkpoints.ts";
import { comparePositions, type Position } from "./position.ts";

/** A transaction and its place on the chain. */
export interface PositionedTransaction<P extends Position = Position> {
  position: P;
  /** Unix seconds; left out where nothing that was written shows it. */
  blockTime?: number;
}

/** Where the chain that was applied and the current one diverge. */
export interface Fork<P extends Position> {
  /** What was applied on blocks above this height is to be undone; -1: all of it. */
  height: number;
  /** What was applied above the checkpoint and stands, in chain order, as it is listed now. */
  canonicalTransactions: PositionedTransaction<P>[];
  /** The block of the last of `standing`; null when there is none. */
  checkpoint: TransactionPosition | null;
}

/** Transactions compared at most; whatever comes after them counts as gone. */
const MAX_COMPARED_TRANSACTIONS = 500;

/**
 * Finds how far above a checkpoint the chain is still the one that was applied. The search ends at the
 * block whose listed transactions differ from the applied ones. A block is undone as a whole: a block
 * with other transactions, or at another time, is another block.
 *
 * @param checkpoint - the newest that stands; null when none does
 * @param applied - what was applied above it, as far as is known, in chain order. What is listed and
 *   not known counts as a difference.
 * @param listed - what the provider lists above it, in chain order; read no further than needed
 * @throws ProviderBehindError when the chain moved while it was read
 */
export async function findFork<P extends Position>(
  provider: BlockProvider,
  tip: Block,
  checkpoint: Checkpoint | null,
  applied: PositionedTransaction[],
  listed: AsyncIterable<PositionedTransaction<P>>,
): Promise<Fork<P>> {
  const same: PositionedTransaction<P>[] = [];
  let other = Number.POSITIVE_INFINITY;
  for await (const row of listed) {
    const known = applied[same.length];
    if (
      same.length === MAX_COMPARED_TRANSACTIONS ||
      known === undefined ||
      !isAtSamePosition(known, row)
    ) {
      other = row.position[0];
      break;
    }
    same.push(row);
  }
  const firstGone = Math.min(other, applied[same.length]?.position[0] ?? other);
  const standing = same.filter(({ position: [height] }) => height < firstGone);
  const last = standing.at(-1);
  const block = last === undefined ? null : await requirePosition(provider, last.position);
  await requireSameChain(provider, tip);
  return {
    height: last?.position[0] ?? checkpoint?.height ?? -1,
    canonicalTransactions: standing,
    checkpoint: block,
  };
}

/**
 * What is known to have been applied above a height, in chain order. These are the transactions that
 * changed our records, and the last transactions that were read.
 */
export function listAppliedTransactionsAbove(
  height: number,
  steps: PositionedTransaction[],
  recent: readonly Position[],
): PositionedTransaction[] {
  const ours = new Set(steps.map(({ position: [, , txHash] }) => txHash));
  const others = recent.filter(([at, , txHash]) => at > height && !ours.has(txHash));
  return [...steps, ...others.map((position) => ({ position }))].sort((a, b) =>
    comparePositions(a.position, b.position),
  );
}

function isAtSamePosition(known: PositionedTransaction, row: PositionedTransaction): boolean {
  return (
    known.position[2] === row.position[2] &&
    comparePositions(known.position, row.position) === 0 &&
    (known.blockTime === undefined || known.blockTime === row.blockTime)
  );
}

/**
 * The block of a transaction that was listed.
 *
 * @throws ProviderBehindError when the provider does not have it where it was listed
 */
export async function requirePosition(
  provider: Pick<BlockProvider, "transaction">,
  [height, txIndex, txHash]: Position,
): Promise<TransactionPosition> {
  const found = await provider.transaction(txHash);
  if (found?.blockHeight !== height || found.txIndex !== txIndex)
    throw new ProviderBehindError(`provider: transaction ${txHash} is not where it was listed`);
  return found;
}
