import { getTableColumns, getTableName } from "drizzle-orm";
import type { SQLiteTable } from "drizzle-orm/sqlite-core";
import type { Network } from "../../chain/network.ts";
import { type Statement, statement } from "../../db/client.ts";
import { isoTimeSql, reserveStamps, type SqlExpression, stampSql } from "../../db/clock.ts";
import { isPackedHex, packHexSql } from "../../db/hex-column.ts";
import { joinJsonTexts } from "../../db/join-json-texts.ts";
import { writeEvents } from "../../events/outbox.ts";
import { computeDueAt, findUnwarnedDeadline } from "../model/compute-due-at.ts";
import type { EscrowRecord } from "../model/escrow-record.ts";
import { nextActionOf } from "../model/intent.ts";
import type { ChangeSet } from "./change-set.ts";
import { toColumns } from "./escrow-row.ts";
import { DOC_VERSION, renderRecord, STAMP_MARK } from "./render-record.ts";
import { escrow, escrowAction, escrowTransaction, escrowUndo } from "./tables.ts";

/**
 * The statements that write all that a change set did. They abort their batch when a record was
 * changed since it was read: `escrow.revision`.
 */
export function writeChanges(
  changes: ChangeSet,
  { sourceId, network }: { sourceId: string; network: Network },
): Statement[] {
  const count = changes.records.size;
  if (count === 0) return [];
  const stampOf = (index: string) => stampSql("escrow", network, count, index);
  return [
    reserveStamps("escrow", network, count, changes.now),
    ...writeRecords(changes, stampOf("(value->>'stampIndex')")),
    ...writeIdentities(changes),
    ...writeTransactions(changes, sourceId),
    ...insertRows(escrowAction, changes.pastActions),
    ...restoreCharges(changes.lateLockedPurchaseIds),
    ...chunkRows(changes.events).flatMap((events) =>
      writeEvents(
        events,
        { network, sourceId, now: changes.now, placeholder: STAMP_MARK },
        stampOf,
      ),
    ),
  ];
}

/** JSON arrays of the rows. Rows are large, so each becomes text once. */
function chunkRows(rows: object[]): string[] {
  return joinJsonTexts(rows.map((row) => JSON.stringify(row)));
}

/** Columns that a later write of a record leaves as they are. */
const IMMUTABLE_COLUMNS: ReadonlySet<string> = new Set([
  "id",
  "side",
  "network",
  "sourceId",
  "sourceType",
  "contractAddress",
  "policyId",
  "blockchainIdentifier",
  "identifierHash",
  "requestedById",
  "createdAt",
]);

/** SQL of columns that are not what the row's JSON has by their name; `at` is the stamp of the write. */
const COMPUTED_COLUMNS: Record<string, string> = {
  // Null aborts the batch: a record that was written before is in an archive now.
  revision: `iif(v->>'revision' = 0 OR EXISTS (SELECT 1 FROM escrow AS stored WHERE stored.id = v->>'id'),
    v->>'revision', NULL)`,
  chainChangedAt: "iif(v->>'movesChain', at, v->>'chainChangedAt')",
  actionChangedAt: "iif(v->>'movesAction', at, v->>'actionChangedAt')",
  changedAt: "iif(v->>'movesAny', at, v->>'changedAt')",
};

/** Whether no step follows. Pages render such a record: its text would take most of its bytes, for ever. */
const hasEnded = (record: EscrowRecord) =>
  record.output === null &&
  record.progress.pendingTransaction === null &&
  nextActionOf(record).requestedAction === "None";

/** The columns that a write sets. Other statements set the charge of a purchase. */
const WRITTEN_COLUMNS = Object.entries(getTableColumns(escrow)).filter(([key]) => key !== "charge");

const INSERT_SQL = `INSERT INTO escrow (${WRITTEN_COLUMNS.map(([, { name }]) => name).join(", ")})`;
const SELECT_SQL = WRITTEN_COLUMNS.map(([key, column]) => {
  const value = `v->>'${key}'`;
  return COMPUTED_COLUMNS[key] ?? (isPackedHex(column) ? packHexSql(value) : value);
}).join(", ");
const UPDATE_SQL = WRITTEN_COLUMNS.filter(
  ([key]) => !IMMUTABLE_COLUMNS.has(key) && key !== "revision",
)
  .map(([, { name }]) => `${name} = excluded.${name}`)
  .join(", ");

function writeRecords(changes: ChangeSet, at: SqlExpression): Statement[] {
  const rows = [...changes.records.values()].map(
    ({ record, changedStamps: moved }, stampIndex) => ({
      ...toColumns(record),
      stampIndex,
      dueAt: computeDueAt(record),
      deadline: findUnwarnedDeadline(record),
      revision: record.revision + 1,
      movesChain: moved.hasChainChanged,
      movesAction: moved.hasActionChanged,
      movesAny: moved.hasChainChanged || moved.hasActionChanged,
    }),
  );
  // Materialized: otherwise each column writes out all of its row's JSON once more.
  const rowStatements = chunkRows(rows).map((part) =>
    statement(
      `${INSERT_SQL}
       WITH item AS MATERIALIZED (SELECT value AS v, ${at.sql} AS at FROM json_each(?))
       SELECT ${SELECT_SQL} FROM item WHERE true
       ON CONFLICT (id) DO UPDATE SET
         revision = iif(escrow.revision = excluded.revision - 1, excluded.revision, NULL), ${UPDATE_SQL}`,
      ...at.params,
      part,
    ),
  );
  return [...rowStatements, ...writeOpen(changes, at)];
}

/** Notes where the records that are new here are. A second record of an identifier aborts the batch. */
function writeIdentities(changes: ChangeSet): Statement[] {
  const rows = [...changes.records.values()].flatMap(({ record }) => {
    const { identifierHash, side, sourceId, id, revision } = record;
    return revision < 0 ? [{ identifierHash, side, sourceId, id }] : [];
  });
  return chunkRows(rows).map((part) =>
    statement(
      `INSERT INTO escrow_identity (identifier_hash, side, source_id, id)
       SELECT unhex(value->>'identifierHash'), value->>'side', value->>'sourceId', value->>'id'
       FROM json_each(?)`,
      part,
    ),
  );
}

/** The rows of `escrow_open`, and the deletion of those whose escrow has ended. */
function writeOpen(changes: ChangeSet, at: SqlExpression): Statement[] {
  const rows: object[] = [];
  const endedIds: string[] = [];
  for (const [stampIndex, { record, changedStamps }] of [...changes.records.values()].entries()) {
    const { id, network, revision, output, progress } = record;
    if (hasEnded(record)) endedIds.push(id);
    else
      rows.push({
        ...{ id, network, revision: revision + 1, stampIndex },
        doc: renderRecord(record, changedStamps),
        output: output && JSON.stringify(output),
        pending: progress.pendingTransaction && JSON.stringify(progress.pendingTransaction),
      });
  }
  const deletion = statement(
    "DELETE FROM escrow_open WHERE id IN (SELECT value FROM json_each(?))",
    JSON.stringify(endedIds),
  );
  return [
    ...chunkRows(rows).map((part) =>
      statement(
        `INSERT OR REPLACE INTO escrow_open (id, network, revision, doc_version, doc, output,
           pending_transaction)
         WITH item AS MATERIALIZED (SELECT value AS v, ${at.sql} AS at FROM json_each(?))
         SELECT v->>'id', v->>'network', v->>'revision', ${DOC_VERSION},
           replace(v->>'doc', ?, ${isoTimeSql("at")}), v->>'output',
           v->>'pending' FROM item`,
        ...at.params,
        part,
        STAMP_MARK,
      ),
    ),
    ...(endedIds.length > 0 ? [deletion] : []),
  ];
}

/** What changes of a transaction that was written before. */
const CHANGED_TRANSACTION_SQL = [
  ...["status", "updated_at", "fees", "block_height", "block_time"],
  ...["previous_on_chain_state", "new_on_chain_state"],
]
  .map((column) => `${column} = excluded.${column}`)
  .join(", ");

function writeTransactions(changes: ChangeSet, sourceId: string): Statement[] {
  const rows = changes.transactions.map(({ recordId, transaction, status, intent }) => ({
    recordId,
    ...transaction,
    status,
    intent: intent && JSON.stringify(intent),
  }));
  const undoRows = changes.transactions.flatMap(({ recordId, transaction, inclusion }) => {
    if (inclusion === null) return [];
    const { txIndex, undoData: data } = inclusion;
    return [{ sourceId, recordId, ...transaction, txIndex, data }];
  });
  return [
    ...insertRows(
      escrowTransaction,
      rows,
      `ON CONFLICT (record_id, tx_hash) DO UPDATE SET ${CHANGED_TRANSACTION_SQL}`,
    ),
    ...insertRows(
      escrowUndo,
      undoRows,
      `ON CONFLICT (source_id, block_height, tx_index, record_id) DO UPDATE SET
         tx_hash = excluded.tx_hash, block_time = excluded.block_time, data = excluded.data`,
    ),
  ];
}

/**
 * The statements that insert rows.
 *
 * @param rows - members have the names of the table's members; what is left out becomes NULL
 * @param onConflict - SQL
 */
function insertRows(table: SQLiteTable, rows: object[], onConflict = ""): Statement[] {
  if (rows.length === 0) return [];
  const columns = Object.entries(getTableColumns(table));
  const sql = `INSERT INTO ${getTableName(table)} (${columns.map(([, { name }]) => name).join(", ")})
     SELECT ${columns.map(([key]) => `value->>'${key}'`).join(", ")} FROM json_each(?) WHERE true
     ${onConflict}`;
  return chunkRows(rows).map((part) => statement(sql, part));
}

/** Of the locked purchases, whose ids are the parameter, those whose charge was given back. */
const RETURNED_CONDITION = "escrow.id IN (SELECT value FROM json_each(?)) AND charge = 'returned'";

/**
 * Charges purchases again if their charge was refunded before their lock landed. A restored
 * database forgets that a lock is pending. Later purchases of the key do not prevent this: credits
 * end at their limit, and no purchase is accepted above the spending limit.
 */
export function restoreCharges(ids: readonly string[]): Statement[] {
  if (ids.length === 0) return [];
  const listed = JSON.stringify(ids);
  return [
    // What is taken is noted first: a purchase that finds no credits left has none to give back later.
    statement(
      `UPDATE escrow_request SET credits = max(0, min(credits, again.room))
       FROM (SELECT record_id AS id, max_usage_credits - accumulated_usage_credits + credits
           - sum(credits) OVER (PARTITION BY api_key.id ORDER BY record_id) AS room
         FROM escrow JOIN escrow_request ON record_id = escrow.id
           JOIN api_key ON api_key.id = escrow.requested_by_id
         WHERE ${RETURNED_CONDITION} AND credits > 0) AS again
       WHERE record_id = again.id`,
      listed,
    ),
    statement(
      `UPDATE api_key SET accumulated_usage_credits = accumulated_usage_credits + again.credits
       FROM (SELECT escrow.requested_by_id AS key_id, sum(credits) AS credits
         FROM escrow JOIN escrow_request ON record_id = escrow.id
         WHERE ${RETURNED_CONDITION} AND credits > 0 GROUP BY 1) AS again
       WHERE api_key.id = again.key_id`,
      listed,
    ),
    statement(
      `UPDATE key_spending SET spent = spent + again.amount, spending_limit = max(spending_limit, spent + again.amount)
       FROM (SELECT escrow.requested_by_id AS key_id, escrow.network AS network,
           fund.value->>'unit' AS unit, sum(CAST(fund.value->>'amount' AS INTEGER)) AS amount
         FROM escrow JOIN escrow_request ON record_id = escrow.id, json_each(funds) AS fund
         WHERE ${RETURNED_CONDITION} AND is_spent = 1 GROUP BY 1, 2, 3) AS again
       WHERE key_spending.api_key_id = again.key_id AND key_spending.network = again.network
         AND key_spending.unit = again.unit`,
      listed,
    ),
    statement(`UPDATE escrow SET charge = 'held' WHERE ${RETURNED_CONDITION}`, listed),
  ];
}
