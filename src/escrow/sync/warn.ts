import type { Block } from "../../chain/provider/provider.ts";
import { violates } from "../../db/client.ts";
import { log } from "../../log.ts";
import { ChangeSet } from "../fold/changes.ts";
import { deadlineOf } from "../fold/deadline.ts";
import { writeChanges } from "../fold/write-changes.ts";
import { ESCROW_COLUMNS, type EscrowRow, recordOfRow } from "../row.ts";
import type { SyncContext } from "./follower.ts";

/** Records of one batch. */
const AT_ONCE = 80;

/**
 * Tells of deadlines that are near while something of ours is undone: once of each, by the chain's time.
 * One that was passed while nobody looked is not told of: it is not near any more.
 *
 * @param tip - of the pass that has just applied everything
 * @returns whether there may be more
 */
export async function warnOfDeadlines(context: SyncContext, tip: Block): Promise<boolean> {
  const { db, source, warnBeforeMs, now, committed } = context;
  const time = tip.time * 1000;
  const rows = await db.all<EscrowRow>(
    `SELECT ${ESCROW_COLUMNS} FROM escrow
     WHERE source_id = ? AND deadline IS NOT NULL AND deadline <= ?
     ORDER BY deadline LIMIT ${AT_ONCE}`,
    source.id,
    time + warnBeforeMs,
  );
  if (rows.length === 0) return false;
  const records = rows.map(recordOfRow);
  const changes = new ChangeSet(records, now(), tip.height);
  for (const record of records) {
    const deadline = deadlineOf(record);
    // A version that knows no deadlines may have moved the record since.
    const isReached = deadline !== null && deadline.at <= time + warnBeforeMs;
    const isNear = deadline !== null && isReached && deadline.at > time;
    changes.warn(record, isReached ? deadline : null, isNear);
    if (isNear)
      log("warn", "sync.deadline_near", {
        record: record.id,
        step: deadline.step,
        deadline: new Date(deadline.at).toISOString(),
      });
  }
  try {
    await db.batch(writeChanges(changes, { sourceId: source.id, network: source.network }));
  } catch (error) {
    // Somebody changed one meanwhile: the next pass looks again.
    if (violates(error, "escrow.rev")) return true;
    throw error;
  }
  await committed();
  return rows.length === AT_ONCE;
}
