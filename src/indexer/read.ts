import { type Block, ProviderError } from "../chain/provider/provider.ts";
import type { Follower } from "./follower.ts";
import { isAfter, type Position } from "./position.ts";

/**
 * Reads transactions in order, as far as they have their confirmations. The first few are read in any
 * case, and then as many as there is time for. When a transaction cannot be read, the ones before it
 * are returned, so that work done is kept. If it is the first, its error is thrown.
 *
 * @param until - epoch milliseconds after which no further transactions are begun
 * @throws ProviderError when they are not listed in chain order
 */
export async function readInOrder<P extends Position, Listed, Read>(
  follower: Pick<
    Follower<P, Listed, Read, unknown>,
    "read" | "positionOf" | "parallelReads" | "threshold" | "now"
  >,
  listed: Listed[],
  tip: Block,
  until: number,
): Promise<Read[]> {
  const { parallelReads, threshold, now } = follower;
  const newest = tip.height - threshold + 1;
  const good: Read[] = [];
  let last: P | null = null;
  for (let i = 0; i < listed.length && (i === 0 || now() < until); i += parallelReads) {
    const slice = listed.slice(i, i + parallelReads);
    for (const result of await Promise.allSettled(slice.map((row) => follower.read(row)))) {
      if (result.status === "rejected") {
        if (good.length === 0) throw result.reason;
        return good;
      }
      const position = follower.positionOf(result.value);
      if (position[0] > newest) return good;
      if (!isAfter(position, last))
        throw new ProviderError("provider: the listing is not in ascending order");
      last = position;
      good.push(result.value);
    }
  }
  return good;
}
