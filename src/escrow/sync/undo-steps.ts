import type { Block } from "../../chain/provider/provider.ts";
import { type Database, type Statement, statement } from "../../db/client.ts";
import { deepestUndoableHeight, FINAL_HEIGHT_SQL } from "../../indexer/checkpoints.ts";
import type { UndoneSteps } from "../../indexer/follower.ts";
import {
  deleteFinalContents,
  findEndedHashes,
  HAS_ENDED_CONDITION,
  reopenTransactions,
} from "../../wallets/spending/store/transactions.ts";
import { revertProgress } from "../model/advance-progress.ts";
import type { Intent } from "../model/intent.ts";
import { MISMATCH_STATUS, type TransactionRecord } from "../model/transaction-record.ts";
import type { UndoData } from "../model/undo-data.ts";
import { ChangeSet } from "../store/change-set.ts";
import {
  ESCROW_COLUMNS,
  type EscrowRow,
  TRANSACTION_SQL,
  toEscrowRecord,
} from "../store/escrow-row.ts";
import { buildUndoStatements, type UndoneTransaction } from "./commit-changes.ts";

/** Steps undone per batch. */
const CHUNK_SIZE = 100;

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
  const rows = await db.all<UndoneStepRow>(
    `SELECT ${ESCROW_COLUMNS}, undo_data, applied, made_for, is_mismatch FROM
       (SELECT record_id, data AS undo_data, ${TRANSACTION_SQL} AS applied, intent AS made_for,
          status = '${MISMATCH_STATUS}' AS is_mismatch, escrow_undo.block_height AS height, tx_index
        FROM escrow_undo JOIN escrow_transaction USING (record_id, tx_hash)
        WHERE source_id = ? AND escrow_undo.block_height > ?
        ORDER BY escrow_undo.block_height DESC, tx_index DESC LIMIT ${CHUNK_SIZE})
     JOIN escrow ON id = record_id
     ORDER BY height DESC, tx_index DESC`,
    sourceId,
    above,
  );
  // The wallet may have found out earlier that it is not there any more.
  const ended = await findEndedHashes(
    db,
    rows.flatMap(({ made_for, applied }) =>
      made_for === null ? [] : (JSON.parse(applied) as TransactionRecord).txHash,
    ),
  );
  const changes = new ChangeSet([], now, tipHeight);
  const undone: UndoneTransaction[] = [];
  const ours: string[] = [];
  for (const { undo_data, applied, made_for, is_mismatch, ...row } of rows) {
    const record = changes.records.get(row.id)?.record ?? toEscrowRecord(row);
    const undoData = JSON.parse(undo_data) as UndoData;
    const transaction: TransactionRecord = {
      ...(JSON.parse(applied) as TransactionRecord),
      status: "RolledBack",
      updatedAt: now,
    };
    const madeFor = made_for === null ? null : (JSON.parse(made_for) as Intent);
    const mayCome = madeFor !== null && !ended.has(transaction.txHash);
    if (mayCome) ours.push(transaction.txHash);
    const progress = revertProgress(record.progress, { transaction, madeFor, undoData, mayCome });
    // That it ended with nothing but deviating locks is still so while another one stands.
    const { onChainState } = undoData.state.hadMismatch ? record.state : undoData.state;
    const state = is_mismatch ? { ...undoData.state, onChainState } : undoData.state;
    changes.rewind(record, { state, output: null, progress });
    undone.push({ recordId: row.id, transaction });
  }
  return {
    changes,
    statements: [...buildUndoStatements(sourceId, undone), ...buildReopenStatements(ours, now)],
    isLast: rows.length < CHUNK_SIZE,
  };
}

/** Deletes what a rollback would need of blocks that no rollback can reach. */
export function deleteFinalUndoData(sourceId: string, tip: Block): Statement[] {
  const final = (columns: string) =>
    statement(
      `${columns} FROM escrow_undo WHERE source_id = ?1 AND block_height <= ${FINAL_HEIGHT_SQL}`,
      sourceId,
      deepestUndoableHeight(tip),
    );
  return [deleteFinalContents(final("SELECT tx_hash")), final("DELETE")];
}

/** A row of `escrow`, and of its transaction that is undone. */
interface UndoneStepRow extends EscrowRow {
  undo_data: string;
  /** `TransactionRecord` as JSON. */
  applied: string;
  made_for: string | null;
  is_mismatch: number;
}

/** Aborts the batch when one of them has ended meanwhile: nobody would tell its record. */
function buildReopenStatements(txHashes: string[], now: number): Statement[] {
  if (txHashes.length === 0) return [];
  const hashes = statement("SELECT value FROM json_each(?)", JSON.stringify(txHashes));
  return [
    statement(
      `UPDATE escrow SET revision = NULL WHERE id IN (
         SELECT record_id FROM escrow_transaction JOIN wallet_transaction ON hash = tx_hash
         WHERE hash IN (${hashes.sql}) AND ${HAS_ENDED_CONDITION})`,
      ...hashes.params,
    ),
    ...reopenTransactions(hashes, now),
  ];
}
