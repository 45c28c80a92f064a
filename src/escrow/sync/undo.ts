import { type Database, type Statement, statement } from "../../db/client.ts";
import type { UndoneSteps } from "../../indexer/follower.ts";
import {
  endedOf,
  HAS_ENDED,
  reopenTransactions,
} from "../../wallets/spending/stored/transactions.ts";
import { beforeOf } from "../fold/before.ts";
import { ChangeSet } from "../fold/changes.ts";
import { wantedBefore } from "../fold/wanted-after.ts";
import { ESCROW_COLUMNS, type EscrowRow, recordOfRow } from "../row.ts";
import { PASSED_OVER, type TransactionRecord } from "../transaction-record.ts";
import type { Want } from "../wanted.ts";
import { type UndoneTransaction, undoStatements } from "./commit.ts";
import { IS_APPLIED } from "./cursor.ts";

/** Steps undone per batch. */
const CHUNK = 100;

/**
 * Undoes the newest steps above a height, newest first, so that each record ends in the state before
 * the oldest step undone. What was asked for since stays asked for. The wallets send those of ours
 * again.
 */
export async function undoSteps(
  db: Pick<Database, "all">,
  sourceId: string,
  above: number,
  tipHeight: number,
  now: number,
): Promise<UndoneSteps<ChangeSet>> {
  const rows = await db.all<UndoneRow>(
    `SELECT ${ESCROW_COLUMNS}, before, fields, made_for, status FROM
       (SELECT record_id, before, fields, want AS made_for, status, block_height, tx_index
        FROM escrow_transaction
        WHERE source_id = ? AND block_height > ? AND ${IS_APPLIED}
        ORDER BY block_height DESC, tx_index DESC LIMIT ${CHUNK})
     JOIN escrow ON id = record_id
     ORDER BY block_height DESC, tx_index DESC`,
    sourceId,
    above,
  );
  // The wallet may have found out earlier that it is not there any more.
  const ended = await endedOf(
    db,
    rows.flatMap(({ made_for, fields }) =>
      made_for === null ? [] : (JSON.parse(fields) as TransactionRecord).txHash,
    ),
  );
  const changes = new ChangeSet([], now, tipHeight);
  const undone: UndoneTransaction[] = [];
  const ours: string[] = [];
  for (const row of rows) {
    const record = changes.records.get(row.id)?.record ?? recordOfRow(row);
    const before = beforeOf(row.before);
    const transaction: TransactionRecord = {
      ...(JSON.parse(row.fields) as TransactionRecord),
      status: "RolledBack",
      updatedAt: now,
    };
    const madeFor = row.made_for === null ? null : (JSON.parse(row.made_for) as Want);
    const mayCome = madeFor !== null && !ended.has(transaction.txHash);
    if (mayCome) ours.push(transaction.txHash);
    const wanted = wantedBefore(record.wanted, { transaction, madeFor, before, mayCome });
    // That it ended with nothing but deviating locks is still so while another one stands.
    const { onChainState } = before.state.wasDeviatedFrom ? record.state : before.state;
    const state = row.status === PASSED_OVER ? { ...before.state, onChainState } : before.state;
    changes.rewind(record, { state, output: null, wanted });
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
  before: string;
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
      `UPDATE escrow SET rev = NULL WHERE id IN (
         SELECT record_id FROM escrow_transaction JOIN wallet_transaction ON hash = tx_hash
         WHERE hash IN (${hashes.sql}) AND ${HAS_ENDED})`,
      ...hashes.params,
    ),
    ...reopenTransactions(hashes, now),
  ];
}
