import { and, eq, getTableColumns } from "drizzle-orm";
import type { SQLiteColumn } from "drizzle-orm/sqlite-core";
import type { Network } from "../../chain/network.ts";
import { type Database, type Statement, statement } from "../../db/client.ts";
import { toTaskKey, type WalletTransaction } from "../model/wallet-transaction.ts";
import { MAX_ATTEMPTS } from "./backoff.ts";
import { type WalletTask, walletTask } from "./tables.ts";

/** The columns of a task that change while it is open. */
export type TaskState = Pick<WalletTask, "dueAt" | "attempts" | "reasonCode" | "reason">;

/** A wallet as a payment source has it. */
export interface SourceWallet {
  network: Network;
  /** Payment key hash, hex. */
  vkey: string;
  sourceId: string;
}

const COLUMNS = Object.entries(getTableColumns(walletTask)).map(([key, { name }]) => ({
  key,
  name,
}));

/** SQL of all columns, named as in `WalletTask`. */
export const TASK_COLUMNS_SQL = COLUMNS.map(({ key, name }) => `${name} AS ${key}`).join(", ");

/** The state of a task that its wallet does from a time on, epoch milliseconds. */
export function createQueuedState(dueAt: number): TaskState {
  return { dueAt, attempts: 0, reasonCode: null, reason: null };
}

/**
 * The task of a subject that asks for something now.
 *
 * @param id - names the task in transactions
 * @param now - epoch milliseconds
 */
export function createTask(
  feature: string,
  subject: Pick<WalletTask, "id" | "network" | "sourceId" | "walletVkey">,
  id: string,
  now: number,
): WalletTask {
  const { id: subjectId, network, sourceId, walletVkey } = subject;
  const owner = { feature, subjectId, id, network, sourceId, walletVkey };
  return { ...owner, requestedAt: now, ...createQueuedState(now), updatedAt: now };
}

/** The state of a task whose transaction is pending or not final yet. */
export const PENDING_STATE: TaskState = {
  dueAt: null,
  attempts: 0,
  reasonCode: null,
  reason: null,
};

/** Id of the subject in the id of a task. */
export const subjectIdOf = (taskId: string): string => taskId.split(":", 1)[0] ?? taskId;

/** The condition of a join that adds its task to each subject. */
export function taskJoinCondition(subjectId: SQLiteColumn, feature: string) {
  return and(eq(walletTask.subjectId, subjectId), eq(walletTask.feature, feature));
}

/** Lists tasks without a transaction, the next first and those that are given up last. */
export function listOpenTasks(
  db: Database,
  feature: string,
  { network, vkey, sourceId }: SourceWallet,
  limit: number,
): Promise<WalletTask[]> {
  return db.all(
    `SELECT ${TASK_COLUMNS_SQL} FROM wallet_task
     WHERE network = ? AND wallet_vkey = ? AND due_at IS NOT NULL AND feature = ? AND source_id = ?
     ORDER BY attempts >= ${MAX_ATTEMPTS}, due_at, subject_id LIMIT ${limit}`,
    ...[network, vkey, feature, sourceId],
  );
}

/** Builds the statement that opens tasks, or replaces those of the same subjects. */
export function upsertTasks(tasks: readonly WalletTask[]): Statement[] {
  if (tasks.length === 0) return [];
  return [
    statement(
      `INSERT INTO wallet_task (${COLUMNS.map(({ name }) => name).join(", ")})
       SELECT ${COLUMNS.map(({ key }) => `value->>'${key}'`).join(", ")} FROM json_each(?) WHERE true
       ON CONFLICT (feature, subject_id) DO UPDATE SET
         ${COLUMNS.map(({ name }) => `${name} = excluded.${name}`).join(", ")}`,
      JSON.stringify(tasks),
    ),
  ];
}

/**
 * Builds the statement that changes the states of tasks that are still open. A task to which another run has
 * meanwhile given a transaction stays as it is.
 */
export function updateTaskStates(tasks: readonly WalletTask[]): Statement[] {
  if (tasks.length === 0) return [];
  return [
    statement(
      `UPDATE wallet_task SET due_at = v->>'dueAt', attempts = v->>'attempts',
         reason_code = v->>'reasonCode', reason = v->>'reason', updated_at = v->>'updatedAt'
       FROM (SELECT value AS v FROM json_each(?))
       WHERE feature = v->>'feature' AND subject_id = v->>'subjectId' AND id = v->>'id'
         AND wallet_task.due_at IS NOT NULL`,
      JSON.stringify(tasks),
    ),
  ];
}

/** Builds the statement that ends the tasks of subjects. */
export function deleteTasks(feature: string, subjectIds: readonly string[]): Statement[] {
  if (subjectIds.length === 0) return [];
  return [
    statement(
      `DELETE FROM wallet_task
       WHERE feature = ? AND subject_id IN (SELECT value FROM json_each(?))`,
      feature,
      JSON.stringify(subjectIds),
    ),
  ];
}

/** Builds the statement that ends the tasks of final transactions, except tasks with a failed update. */
export function deleteFinalTasks(transactions: readonly WalletTransaction[]): Statement[] {
  const tasks = transactions
    .filter(({ phase }) => phase === "Final")
    .flatMap(({ tasks, failedUpdates = [] }) => {
      const failed = new Set(failedUpdates.map(toTaskKey));
      return tasks.filter((task) => !failed.has(toTaskKey(task)));
    })
    .map(({ feature, id }) => ({ feature, id, subjectId: subjectIdOf(id) }));
  if (tasks.length === 0) return [];
  return [
    statement(
      `DELETE FROM wallet_task WHERE due_at IS NULL
         AND (feature, subject_id) IN (SELECT value->>'feature', value->>'subjectId' FROM json_each(?1))
         AND id IN (SELECT value->>'id' FROM json_each(?1))`,
      JSON.stringify(tasks),
    ),
  ];
}

/**
 * Writes a message into tasks, and nothing else.
 *
 * @param message - for people
 * @param now - epoch milliseconds
 */
export async function updateTaskReasons(
  db: Pick<Database, "batch">,
  feature: string,
  taskIds: readonly string[],
  message: string,
  now: number,
): Promise<void> {
  await db.batch([
    statement(
      `UPDATE wallet_task SET reason_code = 'failing', reason = ?, updated_at = ?
       WHERE feature = ? AND subject_id IN (SELECT value FROM json_each(?))`,
      message,
      now,
      feature,
      JSON.stringify(taskIds.map(subjectIdOf)),
    ),
  ]);
}
