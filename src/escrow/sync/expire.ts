import type { Block } from "../../chain/provider/provider.ts";
import { violates } from "../../db/client.ts";
import { ChangeSet } from "../fold/changes.ts";
import { writeChanges } from "../fold/write-changes.ts";
import type { EscrowRecord } from "../record.ts";
import { ESCROW_COLUMNS, type EscrowRow, recordOfRow } from "../row.ts";
import type { RecordError } from "../wanted.ts";
import type { SyncContext } from "./follower.ts";

/** Records that expire in one batch. */
const AT_ONCE = 80;

/**
 * Ends what was asked for and was not locked in time: by the chain, and only once every block up to then
 * was applied. A transaction of ours that may still land is waited for. A lock that turns up all the same,
 * in a block that was in time, is taken up as ever. Where nothing but something else was locked, the
 * record says so.
 *
 * @param tip - of the pass that has just applied everything
 * @returns whether there may be more
 */
export async function expireUnlocked(context: SyncContext, tip: Block): Promise<boolean> {
  const { db, source, now, committed } = context;
  const late = await unlockedAt(context, tip.time * 1000);
  if (late.length === 0) return false;
  const synced = await syncedTime(context, tip);
  if (synced === null) return false;
  const over = late.filter(({ terms }) => Number(terms.payByTime) < synced);
  const changes = new ChangeSet(over, now(), tip.height);
  for (const record of over) expire(changes, record);
  const statements = writeChanges(changes, { sourceId: source.id, network: source.network });
  if (statements.length === 0) return false;
  try {
    await db.batch(statements);
  } catch (error) {
    // Somebody asked for something meanwhile: the next pass looks again.
    if (violates(error, "escrow.rev")) return true;
    throw error;
  }
  await committed();
  return late.length === AT_ONCE;
}

/** Records that nothing is locked for, whose time was over at a time, epoch milliseconds. */
async function unlockedAt({ db, source }: SyncContext, time: number): Promise<EscrowRecord[]> {
  const rows = await db.all<EscrowRow>(
    `SELECT ${ESCROW_COLUMNS} FROM escrow
     WHERE source_id = ? AND on_chain_state IS NULL AND expired_at IS NULL
       AND CAST(terms->>'payByTime' AS INTEGER) < ?
       AND terms->>'isRequested' AND under_way IS NULL
     LIMIT ${AT_ONCE}`,
    source.id,
    time,
  );
  return rows.map(recordOfRow);
}

/** The time of the newest block whose transactions are all applied, epoch milliseconds. */
async function syncedTime(
  { provider, threshold }: SyncContext,
  tip: Block,
): Promise<number | null> {
  const block = threshold <= 1 ? tip : await provider.block(tip.height - threshold + 1);
  return block && block.time * 1000;
}

/** Ends what was asked for and not locked. @param error - that it leaves; left out: the one that there is */
export function expire(
  changes: ChangeSet,
  record: EscrowRecord,
  error: RecordError | null = record.wanted.error,
): void {
  const { state } = record;
  const ended = { ...record.wanted, want: null, error, expiredAt: changes.now };
  changes.want(
    record,
    ended,
    state.wasDeviatedFrom ? { ...state, onChainState: "FundsOrDatumInvalid" } : state,
  );
}
