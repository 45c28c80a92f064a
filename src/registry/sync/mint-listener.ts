import type { Statement } from "../../db/client.ts";
import type { MintTransaction } from "./read-mint.ts";

/**
 * Others that the mints of a policy concern: the inbox, whose tokens it mints as well, and pending
 * registrations. What they write goes into the batches that move the cursor, so each transaction is
 * read once and applied for all or for none.
 */
export interface MintListener {
  /** What some transactions did, in chain order. @param now - epoch milliseconds */
  apply(reads: readonly MintTransaction[], now: number): Statement[];
  /** Mints and burns of agents that stood above a height are gone. @param now - epoch milliseconds */
  undoAgents(agentIdentifiers: string[], above: number, now: number): Statement[];
  /** Takes back what stood on blocks above a height. @param now - epoch milliseconds */
  undo(above: number, now: number): Promise<Statement[]>;
}

/** The same, after the source was removed. Each call does a part, and returns whether there is more. */
export interface RemovalListener {
  /** Tells whoever polls that what stood under the policy is over. @param now - epoch milliseconds */
  end(now: number): Promise<boolean>;
  /** Deletes it, after it was shown long enough. */
  deleteAll(): Promise<boolean>;
}
