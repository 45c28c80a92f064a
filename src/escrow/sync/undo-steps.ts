import { type Database, type Statement, statement } from "../../db/client.ts";
import type { UndoneSteps } from "../../indexer/follower.ts";
import {
  findEnded,
  HAS_ENDED,
  reopenTransactions,
} from "../../wallets/spending/store/transactions.ts";
import type { Intent } from "../model/intent.ts";
import { progressBefore } from "../model/intent-after.ts";
import { MISMATCHED, type TransactionRecord } from "../model/transaction-record.ts";
import { parseUndoData } from "../model/undo-data.ts";
import { ChangeSet } from "../store/change-set.ts";
import { ESCROW_COLUMNS, type EscrowRow, recordOfRow } from "../store/escrow-row.ts";
import { IS_APPLIED } from "../store/predicates.ts";
import { type UndoneTransaction, undoStatements } from "./commit.ts";

/** Steps undone per batch. */
const CHUNK = 100;

/**
 * Undoes the steps above a height, newest first, so that each record returns to its state before them.
 * Later requests stay. The wallets resend the service's own transactions.
 */
export async function undoSteps(
  db: Pick<Database, "all">,
  sourceId: string,
  above: number,
  tipHeight: number,
  now: number,
): Promise<UndoneSteps<ChangeSet>> {
  const rows = await db.all<UndoneRow>(
    `SELECT ${ESCROW_COLUMNS}, undo_data, fields, made_for, status FROM
       (SELECT record_id, undo_data, fields, intent AS made_for, status, block_height, tx_index
        FROM escrow_transaction
        WHERE source_id = ? AND block_height > ? AND ${IS_APPLIED}
        ORDER BY block_height DESC, tx_index DESC LIMIT ${CHUNK})
     JOIN escrow ON id = record_id
     ORDER BY block_height DESC, tx_index DESC`,
    sourceId,
    above,
  );
  // The wallet may have found out earlier that it is not there any more.
  const ended = await findEnded(
    db,
    rows.flatMap(({ made_for, fields }) =>
      made_for === null ? [] : (JSON.parse(fields) as TransactionRecord).txHash,
    ),
  );
  const changes = new ChangeSet([], now, tipHeight);
  const undone: UndoneTransaction[] = [];
  const ours: string[] = [];
  for (const { undo_data, fields, made_for, status, ...row } of rows) {
    const record = changes.records.get(row.id)?.record ?? recordOfRow(row);
    const undoData = parseUndoData(undo_data);
    const transaction: TransactionRecord = {
      ...(JSON.parse(fields) as TransactionRecord),
      status: "RolledBack",
      updatedAt: now,
    };
    const madeFor = made_for === null ? null : (JSON.parse(made_for) as Intent);
    const mayCome = madeFor !== null && !ended.has(transaction.txHash);
    if (mayCome) ours.push(transaction.txHash);
    const progress = progressBefore(record.progress, { transaction, madeFor, undoData, mayCome });
    // That it ended with nothing but deviating locks is still so while another one stands.
    const { onChainState } = undoData.state.hadMismatch ? record.state : undoData.state;
    const state = status === MISMATCHED ? { ...undoData.state, onChainState } : undoData.state;
    changes.rewind(record, { state, output: null, progress });
    undone.push({ recordId: row.id, transaction });
  }
  return {
    changes,
    statements: [...undoStatements(undone), ...reopened(ours, now)],
    isLast: rows.length < CHUNK,
  };
}

/** A row of `escrow`, and of its transaction that is undone. */
interface UndoneRow extends EscrowRow {
  undo_data: string;
  fields: string;
  made_for: string | null;
  status: string;
}

/** Aborts the batch when one of them has ended meanwhile: nobody would tell its record. */
function reopened(txHashes: string[], now: number): Statement[] {
  if (txHashes.length === 0) return [];
  const hashes = statement("SELECT value FROM json_each(?)", JSON.stringify(txHashes));
  return [
    statement(
      `UPDATE escrow SET revision = NULL WHERE id IN (
         SELECT record_id FROM escrow_transaction JOIN wallet_transaction ON hash = tx_hash
         WHERE hash IN (${hashes.sql}) AND ${HAS_ENDED})`,
      ...hashes.params,
    ),
    ...reopenTransactions(hashes, now),
  ];
}
