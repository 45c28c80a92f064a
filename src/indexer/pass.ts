import type { Block } from "../chain/provider/provider.ts";
import { applyRun } from "./apply.ts";
import { finish, holdLease } from "./cursor.ts";
import type { Follower } from "./follower.ts";
import { PAGE } from "./listing.ts";
import type { Position } from "./position.ts";
import { readInOrder } from "./read.ts";
import { undoRolledBack } from "./undo.ts";

/**
 * Runs one pass. It undoes what was rolled back, then applies the new transactions in order, one batch
 * after another, until none are left or `deadline` passes. A pass may stop anywhere and run again: a
 * batch either moved the cursor with all it wrote, or did nothing.
 *
 * @param deadline - epoch milliseconds after which no further batch is begun, and the one under way
 *   takes in no more
 * @returns whether there is more to do
 * @throws ProviderError, ProviderBehind, StaleCursor, DatabaseUnavailable: nothing is lost by any
 */
export async function runPass<P extends Position, Listed, Read, Changes>(
  follower: Follower<P, Listed, Read, Changes>,
  tip: Block,
  deadline: number,
): Promise<boolean> {
  const { db, tables, cursor } = follower;
  if (tip.hash !== cursor.tipHash) {
    // A block on the tip up to which all was done: what stood there stands.
    if (tip.previousHash !== cursor.tipHash) await undoRolledBack(follower, tip);
    for (let ended: Ended = "applied"; ended === "applied"; ) {
      const pending = await follower.list(cursor.recent, tip);
      if (pending.length === 0) break;
      ended = await applyPending(follower, tip, pending, deadline);
      if (ended === "late") return true;
      // A listing that was not cut has all up to the tip.
      if (pending.length < PAGE) break;
    }
  }
  await finish(db, tables, cursor, tip, follower.now(), follower.tipSeen(tip));
  return false;
}

/** All was applied, the rest lacks confirmations (which only another tip brings), or time is over. */
export type Ended = "applied" | "unconfirmed" | "late";

/** Applies transactions that were listed, in order. */
export async function applyPending<P extends Position, Listed, Read, Changes>(
  follower: Follower<P, Listed, Read, Changes>,
  tip: Block,
  listed: Listed[],
  deadline: number,
): Promise<Ended> {
  const { db, tables, cursor, maxReads } = follower;
  for (let rest = listed; rest.length > 0; ) {
    const begun = follower.now();
    await holdLease(db, tables, cursor, begun, follower.tipSeen(tip));
    // The other half of the time is for applying what was read.
    const until = begun + (deadline - begun) / 2;
    let reads = await readInOrder(follower, rest.slice(0, maxReads), tip, until);
    if (reads.length === 0) return "unconfirmed";
    rest = rest.slice(reads.length);
    while (reads.length > 0) {
      reads = await applyRun(follower, tip, reads, deadline);
      await follower.committed();
      if (follower.now() >= deadline) return "late";
    }
  }
  return "applied";
}
