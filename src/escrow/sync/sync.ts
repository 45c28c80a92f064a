import type { Block } from "../../chain/provider/provider.ts";
import { ProviderBehind } from "../../indexer/checkpoints.ts";
import { applyPending, runPass } from "../../indexer/pass.ts";
import { isAfter } from "../../indexer/position.ts";
import { ChangeSet } from "../fold/changes.ts";
import type { EscrowCursor } from "./cursor.ts";
import { expireUnlocked } from "./expire.ts";
import { type EscrowFollower, followNew, followPast, type SyncContext } from "./follower.ts";
import { positionOf } from "./list.ts";
import { warnOfDeadlines } from "./warn.ts";

/**
 * One pass over a source: what is new on the chain, then the past of wallets that were added later, then
 * what was not locked in time, and deadlines that are near.
 *
 * @param cursor - read before `context.source` was: a wallet added later makes it stale, so no pass
 *   reads the past without the wallet it reads it for
 * @param deadline - epoch milliseconds
 * @returns whether there is more to do
 * @throws as `runPass` does
 */
export async function syncSource(
  context: SyncContext,
  cursor: EscrowCursor,
  deadline: number,
): Promise<boolean> {
  const live = followNew(context, cursor);
  const [reached = 0] = cursor.recent.at(-1) ?? [];
  const { tip: known, provider } = context;
  // What was read since has come further.
  const tip = known && known.height >= reached ? known : await provider.latestBlock();
  return (
    (await runPass(live, tip, deadline)) ||
    (await applyPast(context, cursor, live, tip, deadline)) ||
    (await expireUnlocked(context, tip)) ||
    (await warnOfDeadlines(context, tip))
  );
}

/** @returns whether there is more to do */
async function applyPast(
  context: SyncContext,
  cursor: EscrowCursor,
  live: EscrowFollower,
  tip: Block,
  deadline: number,
): Promise<boolean> {
  for (let { backfill } = cursor; backfill; { backfill } = cursor) {
    const past = followPast(context, cursor, live, backfill);
    const end = cursor.recent.at(-1);
    if (end === undefined || !isAfter(end, backfill.position)) {
      await past.commit(new ChangeSet([], context.now(), tip.height), cursor.recent, [], []);
      return false;
    }
    const listed = await past.list(past.cursor.recent, tip);
    const pending = listed.filter((row) => !isAfter(positionOf(row), end));
    if (pending.length === 0)
      throw new ProviderBehind(`provider: does not list transaction ${end[2]} any more`);
    if ((await applyPending(past, tip, pending, deadline)) === "late") return true;
  }
  return false;
}
