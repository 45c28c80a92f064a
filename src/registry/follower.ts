import type { Statement } from "../db/client.ts";
import type { ReadMint } from "./listing.ts";

/**
 * Somebody else whose tokens live under the same policy: the inbox. What it writes goes into the
 * batches that move the cursor, so each transaction is read once and counts for both or for neither.
 */
export interface MintFollower {
  /** What some transactions did, in chain order. @param now - epoch milliseconds */
  apply(reads: readonly ReadMint[], now: number): Statement[];
  /** Takes back what stood on blocks above a height. @param now - epoch milliseconds */
  undo(above: number, now: number): Promise<Statement[]>;
}

/** The same, once the source was removed. Each call does a part, and says whether there is more. */
export interface RemovalFollower {
  /** Tells whoever polls that what stood under the policy is over. @param now - epoch milliseconds */
  end(now: number): Promise<boolean>;
  /** Forgets it, after that was shown long enough. */
  forget(): Promise<boolean>;
}
