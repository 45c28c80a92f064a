import {
  WAITING_FOR_TURN_REASON,
  type WaitingTaskLister,
} from "../../wallets/queue/waiting-tasks.ts";
import { fundsOf, type StoredFunds } from "../model/escrow-record.ts";
import type { Intent, RecordError } from "../model/intent.ts";
import { LOCK_FEATURE, STEP_FEATURE, taskIdOf } from "./task-id.ts";

/** What is wanted of escrows and has no transaction yet. */
export const listWaitingEscrows: WaitingTaskLister = async (database, network, vkeys, limit) => {
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
