import type { Network } from "../../chain/network.ts";
import type { Block } from "../../chain/provider/provider.ts";
import type { Database } from "../../db/client.ts";
import { readTip } from "../../indexer/chain-tip.ts";
import type { EscrowRecord } from "../model/escrow-record.ts";
import type { RecordError } from "../model/intent.ts";
import { ChangeSet } from "../store/change-set.ts";
import { readRecords } from "../store/load-records.ts";
import { writeOwnChanges } from "./commit-changes.ts";
import type { SyncContext } from "./follower.ts";

/** Records that expire in one batch. */
const BATCH_SIZE = 80;

/**
 * Expires records that were not locked in time, once every block up to that time was applied. Pending
 * transactions of the service may still land, so their records wait. A late-seen lock in time still counts.
 * If only other funds were locked, the record says so.
 *
 * @param tip - the tip of the pass that applied everything.
 * @returns whether there may be more.
 */
export async function expireRecordsWithoutLock(context: SyncContext, tip: Block): Promise<boolean> {
  const { db, source, now, onCommit } = context;
  const late = await loadUnlockedRecords(context, tip.time * 1000);
  if (late.length === 0) return false;
  const synced = await loadSyncedTime(context, tip);
  if (synced === null) return false;
  const over = late.filter(({ terms }) => Number(terms.payByTime) < synced);
  if (over.length === 0) return false;
  const changes = new ChangeSet(over, now(), tip.height);
  for (const record of over) expireRecord(changes, record);
  const { id: sourceId, network } = source;
  // Somebody asked for something meanwhile: the next pass looks again.
  if (!(await writeOwnChanges(db, changes, { sourceId, network }))) return true;
  await onCommit();
  return late.length === BATCH_SIZE;
}

/** Records that nothing is locked for, whose time was over at a time, epoch milliseconds. */
function loadUnlockedRecords({ db, source }: SyncContext, time: number): Promise<EscrowRecord[]> {
  return readRecords(
    db,
    `WHERE source_id = ? AND on_chain_state IS NULL AND expired_at IS NULL
       AND CAST(pay_by_time AS INTEGER) < ?
       AND is_requested IS NOT NULL AND pending_hash IS NULL
     LIMIT ${BATCH_SIZE}`,
    source.id,
    time,
  );
}

/** The time of the newest block whose transactions are all applied, epoch milliseconds. */
async function loadSyncedTime(
  { provider, threshold }: SyncContext,
  tip: Block,
): Promise<number | null> {
  const block = threshold <= 1 ? tip : await provider.block(tip.height - threshold + 1);
  return block && block.time * 1000;
}

/** Ends what was asked for and not locked. @param error - that it leaves; left out: the one that there is */
function expireRecord(
  changes: ChangeSet,
  record: EscrowRecord,
  error: RecordError | null = record.progress.error,
): void {
  const { state } = record;
  const ended = { ...record.progress, intent: null, error, expiredAt: changes.now };
  changes.setProgress(
    record,
    ended,
    state.hadMismatch ? { ...state, onChainState: "FundsOrDatumInvalid" } : state,
  );
}

/** Purchases that one run expires. */
const MAX_EXPIRED_PURCHASES = 80;
/** Twenty blocks, of which there is one in 20 seconds: no block of before pay-by is that much later. */
const EXPIRY_MARGIN_MS = 20 * 20_000;

/**
 * Ends purchases of removed payment sources once nothing can be locked for them any more. Nobody
 * follows their chain, so the service's own clock decides. Only our wallets lock a purchase, and
 * their pending locks are awaited. Quotes stay open, because other parties may have locked funds
 * for them.
 *
 * @param sourceIds - of the removed sources
 * @param now - epoch milliseconds
 */
export async function expirePurchasesOfRemovedSources(
  database: Database,
  network: Network,
  sourceIds: readonly string[],
  now: number,
): Promise<void> {
  const records = await readRecords(
    database,
    `INDEXED BY escrow_unlocked
     WHERE source_id IN (SELECT value FROM json_each(?1))
       AND on_chain_state IS NULL AND expired_at IS NULL
       AND CAST(pay_by_time AS INTEGER) < ?2
       AND side = 'purchase' AND network = ?3 AND is_requested IS NOT NULL AND pending_hash IS NULL
     LIMIT ${MAX_EXPIRED_PURCHASES}`,
    JSON.stringify(sourceIds),
    now - EXPIRY_MARGIN_MS,
    network,
  );
  if (records.length === 0) return;
  const tipHeight = (await readTip(database, network)) ?? 0;
  for (const [sourceId, found] of Map.groupBy(records, (one) => one.sourceId)) {
    const changes = new ChangeSet(found, now, tipHeight);
    for (const record of found) {
      // That its source was removed asks nothing of a person any more.
      const { error } = record.progress;
      expireRecord(changes, record, error?.isOfOtherFunds ? error : null);
    }
    // Of those that somebody has changed meanwhile, the next run looks again.
    await writeOwnChanges(database, changes, { sourceId, network });
  }
}
