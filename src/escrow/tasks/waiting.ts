import { ITS_TURN, type WaitingTasks } from "../../wallets/waiting.ts";
import type { StoredFunds } from "../record.ts";
import type { RecordError, Want } from "../wanted.ts";
import { LOCK_WORK, STEP_WORK, taskIdOf } from "./task.ts";

/** What is wanted of escrows and has no transaction yet. */
export const waitingEscrows: WaitingTasks = async (ledger, network, vkeys, limit) => {
  const rows = await ledger.all<{
    id: string;
    vkey: string;
    want: string;
    funds: string;
    error: string | null;
    dueAt: number;
  }>(
    `SELECT id, vkey, want, funds, error, due_at AS dueAt FROM (
       SELECT id, wallet->>'vkey' AS vkey, want, terms->'funds' AS funds, error, due_at,
         row_number() OVER (PARTITION BY wallet->>'vkey' ORDER BY due_at, id) AS place
       FROM escrow
       WHERE network = ?1 AND wallet->>'vkey' IN (SELECT value FROM json_each(?2))
         AND due_at IS NOT NULL AND want IS NOT NULL)
     WHERE place <= ?3 ORDER BY due_at, id`,
    network,
    JSON.stringify(vkeys),
    limit,
  );
  return rows.map(({ id, vkey, dueAt, ...row }) => {
    const want = JSON.parse(row.want) as Want;
    const error = row.error === null ? null : (JSON.parse(row.error) as RecordError);
    const isLock = want.step === "FundsLocking";
    const funds = JSON.parse(row.funds) as StoredFunds[];
    return {
      vkey,
      feature: isLock ? LOCK_WORK : STEP_WORK,
      id: taskIdOf({ id }, want),
      reason: error?.note ?? ITS_TURN,
      dueAt,
      ...(isLock && { needs: funds.map(({ unit, amount }) => ({ unit, amount: BigInt(amount) })) }),
    };
  });
};
