import type { Network } from "../../chain/network.ts";
import type { Database } from "../../db/client.ts";
import { findWallet } from "../../wallets/managed/find-wallet.ts";
import type { SourceWallet } from "../../wallets/queue/store.ts";
import {
  WAITING_FOR_TURN_REASON,
  type WaitingTaskLister,
} from "../../wallets/queue/waiting-tasks.ts";
import type {
  FeatureQueue,
  StuckTasks,
  WaitingCount,
} from "../../wallets/spending/feature-queue.ts";
import {
  MAX_COUNTED_ROWS,
  MAX_OVERDUE_MS,
  MIN_STUCK_ATTEMPTS,
  QUEUE_TIMEOUT_REASON,
  WALLET_IS_ACTIVE_CONDITION,
} from "../../wallets/spending/task-queue.ts";
import { fundsOf, type StoredFunds } from "../model/escrow-record.ts";
import type { Intent, RecordError } from "../model/intent.ts";
import { changeRecords } from "./change-records.ts";
import { findNextDueRecord, listUnassignedSources } from "./due-records.ts";
import { LOCK_FEATURE, STEP_FEATURE, taskIdOf } from "./task-id.ts";
import { createEscrowWalletFinder } from "./wallets-with-escrows.ts";

/** Longer than the longest pause between two tries, so that a failed task is found between them. */
const MAX_RETRY_DELAY_MS = 6 * 60_000;

/** What is wanted of escrows and has no transaction yet. */
const listWaitingEscrows: WaitingTaskLister = async (database, network, vkeys, limit) => {
  const rows = await database.all<{
    id: string;
    vkey: string;
    intent: string;
    funds: string;
    error: string | null;
    dueAt: number;
  }>(
    `SELECT id, vkey, intent, funds, error, due_at AS dueAt FROM (
       SELECT id, wallet_vkey AS vkey, intent, funds, error, due_at,
         row_number() OVER (PARTITION BY wallet_vkey ORDER BY due_at, id) AS place
       FROM escrow
       WHERE network = ?1 AND wallet_vkey IN (SELECT value FROM json_each(?2))
         AND due_at IS NOT NULL AND intent IS NOT NULL)
     WHERE place <= ?3 ORDER BY due_at, id`,
    network,
    JSON.stringify(vkeys),
    limit,
  );
  return rows.map(({ id, vkey, dueAt, ...row }) => {
    const intent = JSON.parse(row.intent) as Intent;
    const error = row.error === null ? null : (JSON.parse(row.error) as RecordError);
    const isLock = intent.step === "FundsLocking";
    const funds = JSON.parse(row.funds) as StoredFunds[];
    return {
      vkey,
      feature: isLock ? LOCK_FEATURE : STEP_FEATURE,
      id: taskIdOf({ id }, intent),
      code: intent.reasonCode ?? (error === null ? "turn" : "failing"),
      reason: error?.note ?? WAITING_FOR_TURN_REASON,
      dueAt,
      ...(isLock && { needs: funds.map(fundsOf) }),
    };
  });
};

/** Locks and steps of escrows in the queue of wallets. Their tasks are on the escrows' records. */
export const escrowQueue: FeatureQueue = {
  listWaitingTasks: listWaitingEscrows,
  findDueWallets: (clock) => createEscrowWalletFinder(clock),
  async findNext(database, core, { network, vkey }) {
    const next = await findNextEscrowTask(database, core, network, vkey);
    if (!next) return null;
    const wallet = { network, vkey, sourceId: next.sourceId };
    return {
      ...next,
      isWaiting: true,
      endWithoutSource: () => endEscrowsWithoutSource(database, wallet, Date.now()),
    };
  },
  async createFeatures(context) {
    const { createEscrowFeatures } = await import("./escrow-features.ts");
    return createEscrowFeatures(context);
  },
  async countWaiting(database, network, now) {
    const rows = await database.all<Omit<WaitingCount, "feature">>(
      `SELECT ifnull(intent->>'reasonCode', iif(error IS NULL, 'turn', 'failing')) AS reason,
         count(*) AS count, min(since) AS oldest
       FROM (SELECT error, intent, due_at, ifnull(intent->>'since', due_at) AS since FROM escrow
             WHERE network = ? AND due_at IS NOT NULL LIMIT ${MAX_COUNTED_ROWS})
       WHERE due_at <= ? OR (intent IS NOT NULL AND error IS NOT NULL)
       GROUP BY reason`,
      network,
      now,
    );
    return rows.map((row) => ({ feature: "escrow", ...row }));
  },
  listStuck: listStuckEscrows,
};

/** The escrow that waits longest for a wallet, or for any purchasing wallet of its source. */
async function findNextEscrowTask(
  database: Database,
  core: Database,
  network: Network,
  vkey: string,
): Promise<{ sourceId: string; dueAt: number } | null> {
  const now = Date.now();
  const [own, unassigned, buyer] = await Promise.all([
    findNextDueRecord(database, network, vkey),
    listUnassignedSources(database, network, now),
    findWallet(core, network, vkey, "Purchasing"),
  ]);
  if (own && own.dueAt <= now) return own;
  const sourceId = unassigned.find((id) => id === buyer?.sourceId);
  return sourceId === undefined ? (own ?? null) : { sourceId, dueAt: now };
}

/** Records that are told together. */
const BATCH_SIZE = 100;

/**
 * Has a wallet do nothing more for the escrows of a payment source that was removed: there is no provider
 * left to ask. What was sent before may still land.
 *
 * @param now - epoch milliseconds
 * @throws StaleWalletError
 */
async function endEscrowsWithoutSource(
  database: Database,
  { network, vkey, sourceId }: SourceWallet,
  now: number,
): Promise<void> {
  const rows = await database.all<{ id: string }>(
    `SELECT id FROM escrow WHERE network = ?1 AND source_id = ?3 AND due_at IS NOT NULL
       AND (wallet_vkey = ?2 OR wallet_vkey IS NULL) LIMIT ${BATCH_SIZE}`,
    network,
    vkey,
    sourceId,
  );
  const ids = rows.map(({ id }) => id);
  await changeRecords(database, network, ids, now, () => ({ isWalletRemoved: true }));
}

/**
 * Lists intents that failed repeatedly or that nobody tries. A purchase may have no wallet yet. A purchase
 * without funds counts at once, since it has a pay-by time.
 */
function listStuckEscrows(
  database: Database,
  network: Network,
  now: number,
): Promise<StuckTasks[]> {
  return database.all(
    `SELECT vkey, min(sourceId) AS sourceId, count(*) AS waiting,
       ifnull(max(note), '${QUEUE_TIMEOUT_REASON}') AS reason
     FROM (SELECT wallet_vkey AS vkey, source_id AS sourceId, due_at, error->>'type' AS type,
             error->>'note' AS note, ifnull(intent->>'failures', 0) AS failures
           FROM escrow
           WHERE network = ?1 AND due_at IS NOT NULL AND due_at <= ?3 AND intent IS NOT NULL
           LIMIT ${MAX_COUNTED_ROWS})
     WHERE failures >= ${MIN_STUCK_ATTEMPTS} OR type = 'InsufficientFunds'
       OR (due_at <= ?2 AND NOT ${WALLET_IS_ACTIVE_CONDITION})
     GROUP BY vkey, iif(vkey IS NULL, sourceId, NULL)`,
    network,
    now - MAX_OVERDUE_MS,
    now + MAX_RETRY_DELAY_MS,
  );
}
