import { type Database, type Statement, statement } from "../../db/client.ts";
import type { EscrowRecord } from "../model/escrow-record.ts";
import type { Intent } from "../model/intent.ts";
import type { TransactionRecord } from "../model/transaction-record.ts";
import {
  ESCROW_COLUMNS,
  type EscrowRow,
  type StoredTransaction,
  TRANSACTION_SQL,
  toEscrowRecord,
} from "./escrow-row.ts";

/**
 * Reads records of the database.
 *
 * @param rest - SQL that follows `FROM escrow`
 */
export async function readRecords(
  db: Pick<Database, "all">,
  rest: string,
  ...params: unknown[]
): Promise<EscrowRecord[]> {
  const rows = await db.all<EscrowRow>(`SELECT ${ESCROW_COLUMNS} FROM escrow ${rest}`, ...params);
  return rows.map(toEscrowRecord);
}

/** Records as they are stored, and what is stored of some transactions of theirs. */
export interface LoadedRecords {
  records: EscrowRecord[];
  storedTransactions: StoredTransaction[];
}

/** A row of `buildRecordsSql`. */
export interface LoadedRow extends EscrowRow {
  /** JSON. */
  transactions: string | null;
}

/**
 * Records, with what is stored of transactions of theirs.
 *
 * @param txHashes - of the transactions
 * @param ids - SQL that selects the ids of the records; its parameters begin with ?2
 */
export async function loadRecords(
  db: Pick<Database, "all">,
  txHashes: readonly string[],
  ids: string,
  ...params: unknown[]
): Promise<LoadedRecords> {
  const { sql, params: all } = selectRecords(txHashes, ids, ...params);
  return toLoadedRecords(await db.all<LoadedRow>(sql, ...all));
}

/** The statement of `loadRecords`. Rows: `LoadedRow`. */
export function selectRecords(
  txHashes: readonly string[],
  ids: string,
  ...params: unknown[]
): Statement {
  return statement(buildRecordsSql(ESCROW_COLUMNS, ids), JSON.stringify(txHashes), ...params);
}

/**
 * SQL of records with what is stored of transactions of theirs, whose hashes are ?1.
 *
 * @param columns - of `EscrowRow`
 * @param ids - SQL that selects the ids of the records
 */
export function buildRecordsSql(columns: string, ids: string): string {
  return `SELECT ${columns}, (SELECT json_group_array(json_array(${TRANSACTION_SQL}, json(intent)))
         FROM escrow_transaction
         WHERE record_id = escrow.id AND tx_hash IN (SELECT value FROM json_each(?1))) AS transactions
     FROM escrow WHERE id IN (${ids})`;
}

export function toLoadedRecords(rows: readonly LoadedRow[]): LoadedRecords {
  return {
    records: rows.map(({ transactions: _, ...row }) => toEscrowRecord(row)),
    storedTransactions: rows.flatMap(({ id, transactions }) =>
      (JSON.parse(transactions ?? "[]") as [TransactionRecord, Intent | null][]).map(
        ([transaction, intent]) => ({ recordId: id, transaction, intent }),
      ),
    ),
  };
}
