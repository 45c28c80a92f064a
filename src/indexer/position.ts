/** Where a transaction stands on the chain: block height, index in the block, hash. */
export type Position = readonly [
  height: number,
  txIndex: number,
  txHash: string,
  ...more: unknown[],
];

/** Blocks that a listing overlaps what was done before. */
const OVERLAP_BLOCKS = 20;

/** Negative, 0 or positive, as one position stands before, at or after another. */
export function comparePositions([height, txIndex]: Position, other: Position): number {
  return height - other[0] || txIndex - other[1];
}

/** Whether a transaction stands after another; null is before the first. */
export function isAfter(position: Position, other: Position | null): boolean {
  return other === null || comparePositions(position, other) > 0;
}

/**
 * What the next listing is compared with. These are all transactions done in the last blocks up to the
 * last of `done`, in chain order, and the one before them. A transaction after that one was done before
 * a transaction that was listed late. It is left out, so that it is done again.
 */
export function mergeRecentPositions<P extends Position>(recent: P[], done: P[]): P[] {
  const last = done.at(-1);
  const before = last === undefined ? recent : truncateRecentPositions(recent, last);
  const byHash = new Map([...before, ...done].map((one) => [one[2], one]));
  const merged = [...byHash.values()].sort(comparePositions);
  const newest = merged.at(-1)?.[0] ?? 0;
  const firstKept = merged.findIndex(([height]) => height >= newest - OVERLAP_BLOCKS);
  return merged.slice(Math.max(firstKept - 1, 0));
}

/** Those that do not stand after a position; none when it is null. */
export function truncateRecentPositions<P extends Position>(
  recent: P[],
  position: Position | null,
): P[] {
  return recent.filter((one) => position !== null && !isAfter(one, position));
}
