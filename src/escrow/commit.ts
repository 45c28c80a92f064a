import { type Database, type Statement, statement, violates } from "../db/client.ts";
import { isoText, reserveStamps, type SqlExpression, stamp } from "../db/clock.ts";
import { newId } from "../db/id.ts";
import type { Backfill, Cursor, Position } from "../sources/cursor.ts";
import { writeEvents } from "../webhooks/outbox.ts";
import type { ChangeSet } from "./changes.ts";
import type { TransactionRecord } from "./record.ts";
import { DOC_VERSION, render, renderTransaction, STAMP } from "./render.ts";

/** Another pass, or an operator, moved the cursor or a record meanwhile: read again, then decide. */
export class StaleCursor extends Error {
  override name = "StaleCursor";
}

/** Where the cursor goes with a batch. */
export interface CursorMove {
  position: Position | null;
  recent: Position[];
  /** Epoch milliseconds until which this pass holds the source; null: no longer. */
  leaseUntil: number | null;
  /** How far the past of added wallets was read; null: all of it. Left out: as far as before. */
  backfill?: Backfill | null;
}

/** A transaction that a rollback took away, as it is shown from now on. */
export interface UndoneTransaction {
  recordId: string;
  transaction: TransactionRecord;
}

/**
 * Writes everything a run of transactions did, the cursor and the events in one batch: all of it
 * happens or none. The cursor's version is the key of the operation, so a batch sent twice, or late,
 * aborts; which of the two it was, `last_op` tells.
 *
 * @throws StaleCursor when somebody else moved the cursor or a record first; nothing was written
 */
export async function commit(
  db: Database,
  cursor: Cursor,
  changes: ChangeSet,
  move: CursorMove,
  more: Statement[] = [],
): Promise<void> {
  const op = newId(changes.now);
  try {
    await db.batch([
      moveStatement(cursor, move, changes, op),
      ...statementsOf(changes, cursor),
      ...more,
    ]);
  } catch (error) {
    if (violates(error, "escrow.rev")) throw new StaleCursor("a record was changed meanwhile");
    if (!violates(error, "source_cursor.version")) throw error;
    const [row] = await db.all<{ last_op: string | null }>(
      "SELECT last_op FROM source_cursor WHERE source_id = ?",
      cursor.sourceId,
    );
    // The answer to our own batch was lost, and it was sent again.
    if (row?.last_op !== op) throw new StaleCursor("the cursor was moved meanwhile");
  }
  cursor.version++;
  cursor.position = move.position;
  cursor.recent = move.recent;
  if (move.backfill === null) delete cursor.backfill;
  else if (move.backfill) cursor.backfill = move.backfill;
}

/** Marks transactions as rolled back, and takes back the action history they made. */
export function undoStatements(undone: UndoneTransaction[]): Statement[] {
  const rows = undone.map(({ recordId, transaction }) => ({
    recordId,
    txHash: transaction.txHash,
    fields: JSON.stringify(transaction),
    doc: renderTransaction(transaction),
  }));
  const json = JSON.stringify(rows);
  return [
    statement(
      `UPDATE escrow_transaction SET status = 'RolledBack', fields = item.value->>'fields',
         doc = item.value->>'doc'
       FROM json_each(?) AS item
       WHERE record_id = item.value->>'recordId' AND tx_hash = item.value->>'txHash'`,
      json,
    ),
    statement(
      `DELETE FROM escrow_action WHERE (record_id, tx_hash) IN
         (SELECT value->>'recordId', value->>'txHash' FROM json_each(?))`,
      json,
    ),
  ];
}

function moveStatement(
  cursor: Cursor,
  move: CursorMove,
  changes: ChangeSet,
  op: string,
): Statement {
  const backfill = move.backfill === undefined ? (cursor.backfill ?? null) : move.backfill;
  return statement(
    `UPDATE source_cursor SET version = iif(version = ?2, version + 1, NULL), last_op = ?3,
       position = ?4, recent = ?5, lease_until = ?6, ignored_locks = ignored_locks + ?7,
       backfill = ?8, tip_hash = iif(position IS ?4, tip_hash, NULL)
     WHERE source_id = ?1`,
    cursor.sourceId,
    cursor.version,
    op,
    move.position && JSON.stringify(move.position),
    JSON.stringify(move.recent),
    move.leaseUntil,
    changes.ignoredLocks,
    backfill && JSON.stringify(backfill),
  );
}

function statementsOf(changes: ChangeSet, { sourceId, network }: Cursor): Statement[] {
  const count = changes.records.size;
  if (count === 0) return [];
  const stampOf = (index: string) => stamp("escrow", network, count, index);
  return [
    reserveStamps("escrow", network, count, changes.now),
    ...writeRecords(changes, stampOf("(item.value->>'stampIndex')")),
    ...writeTransactions(changes, sourceId),
    ...writePastActions(changes),
    ...portions(changes.events).flatMap((events) =>
      writeEvents(events, { network, sourceId, now: changes.now, placeholder: STAMP }, stampOf),
    ),
  ];
}

/** D1 takes two megabytes in one parameter, and a party may make a record of tens of kilobytes. */
const MAX_PARAMETER = 1_000_000;

/** Splits rows so that the JSON text of each part is one parameter. */
function portions<Row>(rows: Row[]): Row[][] {
  const parts: Row[][] = [];
  let length = MAX_PARAMETER;
  for (const row of rows) {
    const { length: more } = JSON.stringify(row);
    if (length + more > MAX_PARAMETER) {
      parts.push([]);
      length = 0;
    }
    parts.at(-1)?.push(row);
    length += more;
  }
  return parts;
}

function writeRecords(changes: ChangeSet, at: SqlExpression): Statement[] {
  const rows = [...changes.records.values()].map(({ record, moved }, stampIndex) => ({
    ...record,
    stampIndex,
    terms: JSON.stringify(record.terms),
    state: JSON.stringify(record.state),
    onChainState: record.state.onChainState,
    utxo: record.state.utxo,
    rev: record.rev + 1,
    movesChain: moved.chain,
    movesAction: moved.action,
    movesAny: moved.chain || moved.action,
    doc: render(record, moved),
  }));
  return portions(rows).map((part) =>
    statement(
      `INSERT INTO escrow (id, side, network, source_id, source_type, contract_address, policy_id,
         blockchain_identifier, identifier_hash, requested_by_id, terms, state, on_chain_state, utxo,
         created_at, updated_at, last_checked_at, chain_changed_at, action_changed_at, changed_at,
         sequence, rev, doc_version, doc)
       SELECT v->>'id', v->>'side', v->>'network', v->>'sourceId', v->>'sourceType',
         v->>'contractAddress', v->>'policyId', v->>'blockchainIdentifier', v->>'identifierHash',
         v->>'requestedById', v->>'terms', v->>'state', v->>'onChainState', v->>'utxo',
         v->>'createdAt', v->>'updatedAt', v->>'lastCheckedAt',
         iif(v->>'movesChain', at, v->>'chainChangedAt'),
         iif(v->>'movesAction', at, v->>'actionChangedAt'),
         iif(v->>'movesAny', at, v->>'changedAt'),
         v->>'sequence', v->>'rev', ?, replace(v->>'doc', ?, ${isoText("at")})
       FROM (SELECT item.value AS v, ${at.sql} AS at FROM json_each(?) AS item)
       WHERE true
       ON CONFLICT (id) DO UPDATE SET
         rev = iif(escrow.rev = excluded.rev - 1, excluded.rev, NULL),
         terms = excluded.terms, state = excluded.state, on_chain_state = excluded.on_chain_state,
         utxo = excluded.utxo, updated_at = excluded.updated_at,
         last_checked_at = excluded.last_checked_at, chain_changed_at = excluded.chain_changed_at,
         action_changed_at = excluded.action_changed_at, changed_at = excluded.changed_at,
         sequence = excluded.sequence, doc_version = excluded.doc_version, doc = excluded.doc`,
      DOC_VERSION,
      STAMP,
      ...at.params,
      JSON.stringify(part),
    ),
  );
}

function writeTransactions(changes: ChangeSet, sourceId: string): Statement[] {
  const rows = changes.transactions.map(({ recordId, txIndex, before, transaction }) => ({
    recordId,
    txHash: transaction.txHash,
    id: transaction.id,
    blockHeight: transaction.blockHeight,
    txIndex,
    before: JSON.stringify(before),
    fields: JSON.stringify(transaction),
    doc: renderTransaction(transaction),
  }));
  // A transaction that was rolled back and came again takes its row again.
  return portions(rows).map((part) =>
    statement(
      `INSERT INTO escrow_transaction (record_id, tx_hash, id, source_id, status, block_height,
         tx_index, before, fields, doc)
       SELECT value->>'recordId', value->>'txHash', value->>'id', ?, 'Confirmed',
         value->>'blockHeight', value->>'txIndex', value->>'before', value->>'fields', value->>'doc'
       FROM json_each(?) WHERE true
       ON CONFLICT (record_id, tx_hash) DO UPDATE SET id = excluded.id, status = excluded.status,
         block_height = excluded.block_height, tx_index = excluded.tx_index,
         before = excluded.before, fields = excluded.fields, doc = excluded.doc`,
      sourceId,
      JSON.stringify(part),
    ),
  );
}

function writePastActions({ pastActions }: ChangeSet): Statement[] {
  if (pastActions.length === 0) return [];
  return [
    statement(
      `INSERT INTO escrow_action (record_id, id, tx_hash, doc)
       SELECT value->>'recordId', value->>'id', value->>'txHash', value->>'doc' FROM json_each(?)`,
      JSON.stringify(pastActions),
    ),
  ];
}
