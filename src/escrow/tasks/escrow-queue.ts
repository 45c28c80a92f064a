import type { Network } from "../../chain/network.ts";
import type { Database } from "../../db/client.ts";
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
import { endEscrowsWithoutSource, findNextEscrowTask } from "./find-next-escrow-task.ts";
import { listWaitingEscrows } from "./list-waiting-escrows.ts";
import { createEscrowWalletFinder } from "./wallets-with-escrows.ts";

/** Longer than the longest pause between two tries, so that a failed task is found between them. */
const MAX_RETRY_DELAY_MS = 6 * 60_000;

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
