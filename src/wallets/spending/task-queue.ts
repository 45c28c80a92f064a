import type { Funds, Network } from "../../chain/network.ts";
import type { Database } from "../../db/client.ts";
import { MAX_ATTEMPTS } from "../queue/backoff.ts";
import { createDueWalletFinder } from "../queue/due-wallets.ts";
import type { WalletFeature } from "../queue/feature.ts";
import { TASK_COLUMNS_SQL } from "../queue/store.ts";
import type { Subject, SubjectPort } from "../queue/subject-feature.ts";
import type { WalletTask } from "../queue/tables.ts";
import { WAITING_FOR_TURN_REASON, type WaitingTaskLister } from "../queue/waiting-tasks.ts";
import type { FeatureContext, FeatureQueue, StuckTasks, WaitingCount } from "./feature-queue.ts";

/** Rows counted per network and table. A frequent collector of metrics thus costs little. */
export const MAX_COUNTED_ROWS = 10_000;
/** The cron wakes wallets each minute, so a task that is overdue for longer is not being done. */
export const MAX_OVERDUE_MS = 90_000;
/** Delays of the provider or the chain end sooner. A longer one does not end without help. */
const MAX_DELAYED_MS = 60 * 60_000;
/** A task with this many failed tries does not recover without help. */
export const MIN_STUCK_ATTEMPTS = 2;
export const QUEUE_TIMEOUT_REASON = "the task has waited for a try for too long";

/** SQL: the wallet `vkey` has stored a transaction since ?2, so overdue tasks wait for room in blocks. */
export const WALLET_IS_ACTIVE_CONDITION = `EXISTS (SELECT 1 FROM wallet_transaction AS stored
  WHERE stored.network = ?1 AND stored.wallet_vkey = vkey AND stored.created_at > ?2)`;

/** A feature whose tasks are rows of `wallet_task`. */
export interface TaskFeature extends Pick<FeatureQueue, "listReservedOutputs"> {
  /** As in the rows. */
  feature: string;
  /** Wallets with tasks that are due by the chain's clock, where it is not the wall clock. */
  findDueWallets?: FeatureQueue["findDueWallets"];
  /** What the wallet pays for each task beside fees, by the id of its subject. */
  readNeeds?(
    db: Database,
    subjectIds: readonly string[],
  ): Promise<ReadonlyMap<string, readonly Funds[]>>;
  /** Loads the transaction library. */
  createFeature(context: FeatureContext): Promise<WalletFeature>;
  /** Loads the transaction library. @param db - with `writes: "idempotent"` */
  createPort(db: Database): Promise<SubjectPort<Subject, object>>;
}

/** Creates the queue of the features whose tasks are rows of `wallet_task`, most urgent first. */
export function createTaskQueue(features: readonly TaskFeature[]): FeatureQueue {
  const requireFeature = (name: string): TaskFeature => {
    const found = features.find(({ feature }) => feature === name);
    if (!found) throw new Error(`no feature has the name ${name}`);
    return found;
  };
  return {
    createFeatures: (context) => Promise.all(features.map((one) => one.createFeature(context))),
    findDueWallets: (clock) => async (db, now) => {
      const finders = features.flatMap((one) => one.findDueWallets?.(clock) ?? []);
      const all = [createDueWalletFinder("wallet_task"), ...finders];
      return (await Promise.all(all.map((find) => find(db, now)))).flat();
    },
    async listReservedOutputs(db, network) {
      const each = features.map((one) => one.listReservedOutputs?.(db, network) ?? []);
      return new Set((await Promise.all(each)).flatMap((names) => [...names]));
    },
    async listWaitingTasks(db, ...asked) {
      const tasks = await listWaitingTasks(db, ...asked);
      const needs = await readNeeds(db, tasks, requireFeature);
      return tasks.map(({ feature, subjectId, walletVkey, id, dueAt, reason, reasonCode }) => {
        const code = reasonCode ?? "turn";
        return {
          ...{ feature, id, code },
          vkey: walletVkey,
          reason: reason ?? (code === "person" ? WAITS_FOR_SIGNATURES : WAITING_FOR_TURN_REASON),
          dueAt: dueAt ?? 0,
          needs: needs.get(`${feature}:${subjectId}`) ?? [],
        };
      });
    },
    async findNext(db, _, { network, vkey }) {
      const [task] = await db.all<Pick<WalletTask, "feature" | "sourceId" | "dueAt" | "attempts">>(
        `SELECT feature, source_id AS sourceId, due_at AS dueAt, attempts FROM wallet_task
         WHERE network = ? AND wallet_vkey = ? AND due_at IS NOT NULL
         ORDER BY attempts >= ${MAX_ATTEMPTS}, due_at, subject_id LIMIT 1`,
        ...[network, vkey],
      );
      if (!task) return null;
      const { feature, sourceId, dueAt, attempts } = task;
      return {
        sourceId,
        dueAt,
        isWaiting: attempts < MAX_ATTEMPTS,
        async endWithoutSource() {
          const { endWithoutSource } = await import("../queue/subject-feature.ts");
          const port = await requireFeature(feature).createPort(db);
          await endWithoutSource(db, port, { network, vkey, sourceId }, Date.now());
        },
      };
    },
    countWaiting,
    listStuck,
  };
}

const WAITS_FOR_SIGNATURES =
  "waits for administrators' signatures, with an output reserved for the fee";

/** Lists tasks as `WaitingTaskLister` describes, of each feature and wallet at most `limit`. */
function listWaitingTasks(
  ...[db, network, vkeys, limit]: Parameters<WaitingTaskLister>
): Promise<WalletTask[]> {
  return db.all(
    `SELECT ${TASK_COLUMNS_SQL} FROM (
       SELECT *, row_number() OVER (PARTITION BY wallet_vkey, feature ORDER BY due_at, subject_id) AS place
       FROM wallet_task
       WHERE network = ?1 AND wallet_vkey IN (SELECT value FROM json_each(?2)) AND due_at IS NOT NULL)
     WHERE place <= ?3 ORDER BY due_at, subject_id`,
    ...[network, JSON.stringify(vkeys), limit],
  );
}

/** What wallets pay for tasks, by feature and subject. */
async function readNeeds(
  db: Database,
  tasks: readonly WalletTask[],
  featureOf: (name: string) => TaskFeature,
): Promise<ReadonlyMap<string, readonly Funds[]>> {
  const needs = new Map<string, readonly Funds[]>();
  for (const [feature, ones] of Map.groupBy(tasks, (task) => task.feature)) {
    const subjects = ones.map(({ subjectId }) => subjectId);
    const found = (await featureOf(feature).readNeeds?.(db, subjects)) ?? [];
    for (const [subjectId, funds] of found) needs.set(`${feature}:${subjectId}`, funds);
  }
  return needs;
}

/** Counts the tasks that wait, by feature and reason. */
function countWaiting(db: Database, network: Network): Promise<WaitingCount[]> {
  return db.all(
    `SELECT feature, reason, count(*) AS count, min(since) AS oldest FROM (
       SELECT feature, ifnull(reason_code, 'turn') AS reason, requested_at AS since FROM wallet_task
       WHERE network = ? AND due_at IS NOT NULL LIMIT ${MAX_COUNTED_ROWS})
     GROUP BY feature, reason`,
    network,
  );
}

/**
 * Lists the tasks that failed repeatedly, that were delayed for too long, or that nobody tries.
 *
 * @param now - epoch milliseconds
 */
function listStuck(db: Database, network: Network, now: number): Promise<StuckTasks[]> {
  return db.all(
    `SELECT vkey, min(source_id) AS sourceId, count(*) AS waiting,
       ifnull(max(reason), '${QUEUE_TIMEOUT_REASON}') AS reason
     FROM (SELECT wallet_vkey AS vkey, source_id, reason_code, reason, attempts, requested_at, due_at
           FROM wallet_task
           WHERE network = ?1 AND due_at IS NOT NULL LIMIT ${MAX_COUNTED_ROWS})
     WHERE attempts >= ${MIN_STUCK_ATTEMPTS} OR (due_at <= ?2 AND NOT ${WALLET_IS_ACTIVE_CONDITION})
       OR (reason_code IN ('provider', 'chain') AND requested_at <= ?3)
     GROUP BY vkey`,
    network,
    now - MAX_OVERDUE_MS,
    now - MAX_DELAYED_MS,
  );
}
