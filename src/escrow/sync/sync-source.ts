import type { Block } from "../../chain/provider/provider.ts";
import { ProviderBehindError } from "../../indexer/checkpoints.ts";
import { isAfter } from "../../indexer/position.ts";
import { applyPendingTransactions, runPass } from "../../indexer/run-pass.ts";
import { log } from "../../log.ts";
import { deadlineOf } from "../model/compute-due-at.ts";
import { ChangeSet } from "../store/change-set.ts";
import { readRecords } from "../store/load-records.ts";
import { writeOwnChanges } from "./commit-changes.ts";
import type { EscrowCursor } from "./cursor.ts";
import { expireRecordsWithoutLock } from "./expire-records.ts";
import {
  type EscrowFollower,
  followBackfill,
  followNewTransactions,
  type SyncContext,
} from "./follower.ts";
import { toPosition } from "./list-contract-transactions.ts";

/**
 * One pass over a source. It reads new blocks, then the past of wallets that were added later. Then
 * it ends records that were not locked in time, and sends warnings of near deadlines.
 *
 * @param cursor - read before `context.source`. A wallet that was added later makes it stale, so
 *   no pass reads the past without that wallet.
 * @param deadline - epoch milliseconds
 * @returns whether there is more to do
 * @throws as `runPass` does
 */
export async function syncSource(
  context: SyncContext,
  cursor: EscrowCursor,
  deadline: number,
): Promise<boolean> {
  const live = followNewTransactions(context, cursor);
  const [reached = 0] = cursor.recent.at(-1) ?? [];
  const { tip: known, provider } = context;
  // What was read since has come further.
  const tip = known && known.height >= reached ? known : await provider.latestBlock();
  return (
    (await runPass(live, tip, deadline)) ||
    (await applyBackfill(context, cursor, live, tip, deadline)) ||
    (await expireRecordsWithoutLock(context, tip)) ||
    (await warnOfDeadlines(context, tip))
  );
}

/** @returns whether there is more to do */
async function applyBackfill(
  context: SyncContext,
  cursor: EscrowCursor,
  live: EscrowFollower,
  tip: Block,
  deadline: number,
): Promise<boolean> {
  for (let { backfill } = cursor; backfill; { backfill } = cursor) {
    const past = followBackfill(context, cursor, live, backfill);
    const end = cursor.recent.at(-1);
    if (end === undefined || !isAfter(end, backfill.position)) {
      await past.commit(new ChangeSet([], context.now(), tip.height), cursor.recent, [], []);
      return false;
    }
    const listed = await past.list(past.cursor.recent, tip);
    const pending = listed.filter((row) => !isAfter(toPosition(row), end));
    if (pending.length === 0)
      throw new ProviderBehindError(`provider: does not list transaction ${end[2]} any more`);
    if ((await applyPendingTransactions(past, tip, pending, deadline)) === "late") return true;
  }
  return false;
}

/** Records of one batch. */
const BATCH_SIZE = 80;

/**
 * Sends an event for each near deadline of the service, once, by the chain's time. Deadlines that passed
 * unseen get none.
 *
 * @param tip - the tip of the pass that applied everything.
 * @returns whether there may be more.
 */
async function warnOfDeadlines(context: SyncContext, tip: Block): Promise<boolean> {
  const { db, source, warnBeforeMs, now, onCommit } = context;
  const time = tip.time * 1000;
  const records = await readRecords(
    db,
    `WHERE source_id = ? AND deadline IS NOT NULL AND deadline <= ?
     ORDER BY deadline LIMIT ${BATCH_SIZE}`,
    source.id,
    time + warnBeforeMs,
  );
  if (records.length === 0) return false;
  const changes = new ChangeSet(records, now(), tip.height);
  for (const record of records) {
    const deadline = deadlineOf(record);
    // A version that knows no deadlines may have moved the record since.
    const isReached = deadline !== null && deadline.time <= time + warnBeforeMs;
    const isNear = deadline !== null && isReached && deadline.time > time;
    changes.recordDeadlineWarning(record, isReached ? deadline : null, isNear);
    if (isNear)
      log("warn", "sync.deadline_near", {
        record: record.id,
        step: deadline.step,
        deadline: new Date(deadline.time).toISOString(),
      });
  }
  const { id: sourceId, network } = source;
  // Somebody changed one meanwhile: the next pass looks again.
  if (!(await writeOwnChanges(db, changes, { sourceId, network }))) return true;
  await onCommit();
  return records.length === BATCH_SIZE;
}
