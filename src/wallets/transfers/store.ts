import { getTableColumns } from "drizzle-orm";
import { type Database, type Statement, statement } from "../../db/client.ts";
import { isOneOf } from "../../db/conditions.ts";
import { newId } from "../../db/id.ts";
import { MAX_ATTEMPTS } from "../queue/backoff.ts";
import { createTask, type SourceWallet, taskJoinCondition, upsertTasks } from "../queue/store.ts";
import { walletTask } from "../queue/tables.ts";
import { TRANSFER_FEATURE, type TransferChange, type TransferRow, transfer } from "./tables.ts";

/** A transfer that was just requested, with its task. @param now - epoch milliseconds */
export function createTransfer(
  {
    wallet,
    topUp,
    ...asked
  }: Pick<TransferRow, "network" | "sourceId" | "toAddress" | "coin" | "assets" | "createdById"> & {
    /** The one that pays. */
    wallet: { id: string; vkey: string; address: string };
    topUp: { ruleId: string; walletId: string } | null;
  },
  now: number,
): TransferRow {
  const id = newId(now);
  const subject = { ...asked, id, walletVkey: wallet.vkey };
  return {
    ...subject,
    walletId: wallet.id,
    walletAddress: wallet.address,
    topUpRuleId: topUp?.ruleId ?? null,
    topUpWalletId: topUp?.walletId ?? null,
    state: "Pending",
    error: null,
    tx: null,
    eventCounts: {},
    createdAt: now,
    updatedAt: now,
    lastCheckedAt: null,
    revision: 0,
    task: createTask(TRANSFER_FEATURE, subject, id, now),
  };
}

/** Builds the statements that insert a transfer and open its task. */
export function insertTransfer(db: Database, { task, ...row }: TransferRow): Statement[] {
  return [db.orm.insert(transfer).values(row).toSQL(), ...upsertTasks(task ? [task] : [])];
}

/** Builds the statement that changes transfers. It aborts its batch if one of them has changed. */
export function updateTransfers(
  changes: readonly { row: TransferRow; change: TransferChange }[],
  now: number,
): Statement {
  const rows = changes.map(({ row, change }) => {
    const { id, revision, state, error, lastCheckedAt, tx, eventCounts } = { ...row, ...change };
    return {
      ...{ id, revision, state, error, lastCheckedAt },
      tx: tx && JSON.stringify(tx),
      eventCounts: JSON.stringify(eventCounts),
    };
  });
  return statement(
    `UPDATE transfer SET state = v->>'state', error = v->>'error', tx = v->>'tx',
       event_counts = v->>'eventCounts', last_checked_at = v->>'lastCheckedAt', updated_at = ?2,
       revision = iif(revision = v->>'revision', revision + 1, NULL)
     FROM (SELECT value AS v FROM json_each(?1)) WHERE id = v->>'id'`,
    JSON.stringify(rows),
    now,
  );
}

/** Transfers with their tasks. */
export function selectTransfers(db: Database) {
  return db.orm
    .select({ ...getTableColumns(transfer), task: walletTask })
    .from(transfer)
    .leftJoin(walletTask, taskJoinCondition(transfer.id, TRANSFER_FEATURE));
}

export function readTransfers(db: Database, ids: readonly string[]): Promise<TransferRow[]> {
  return selectTransfers(db).where(isOneOf(transfer.id, ids));
}

/** Whether it is not tried again, and has failed as soon as nothing of it can land any more. */
export const isGivenUp = ({ state, task }: Pick<TransferRow, "state" | "task">) =>
  state === "Pending" && task !== null && task.attempts >= MAX_ATTEMPTS;

/**
 * Ends given-up transfers of a wallet as failed, where none of their transactions can land any more.
 *
 * @param now - epoch milliseconds
 */
export async function failGivenUpTransfers(
  db: Database,
  { network, vkey }: SourceWallet,
  now: number,
): Promise<void> {
  const params = [network, vkey, now, TRANSFER_FEATURE] as const;
  const ended = `SELECT subject_id FROM wallet_task
    WHERE network = ?1 AND wallet_vkey = ?2 AND due_at <= ?3 AND feature = ?4
      AND attempts >= ${MAX_ATTEMPTS} AND subject_id NOT IN (
        SELECT task.value->>'id' FROM wallet_transaction AS tx, json_each(tx.tasks) AS task
        WHERE tx.network = ?1 AND tx.wallet_vkey = ?2 AND tx.due_at IS NOT NULL
          AND task.value->>'feature' = ?4)`;
  await db.batch([
    statement(
      `UPDATE transfer SET state = 'Failed', updated_at = ?3, revision = revision + 1, error = (
         SELECT reason FROM wallet_task WHERE feature = ?4 AND subject_id = transfer.id)
       WHERE id IN (${ended})`,
      ...params,
    ),
    statement(`DELETE FROM wallet_task WHERE feature = ?4 AND subject_id IN (${ended})`, ...params),
  ]);
}
