import type { Network } from "../../chain/network.ts";
import { type Statement, statement } from "../../db/client.ts";
import { isoText, reserveStamps, type SqlExpression, stamp } from "../../db/clock.ts";
import { writeEvents } from "../../events/outbox.ts";
import { chargeAgain } from "../charge-again.ts";
import { DOC_VERSION, render, renderTransaction, STAMP } from "../render.ts";
import { columnsOf } from "../row.ts";
import type { ChangeSet } from "./changes.ts";
import { deadlineToWarnOf } from "./deadline.ts";
import { dueAt } from "./due-at.ts";

/**
 * The statements that write all that a change set did. They abort their batch when a record was
 * changed since it was read: `escrow.rev`.
 */
export function writeChanges(
  changes: ChangeSet,
  { sourceId, network }: { sourceId: string; network: Network },
): Statement[] {
  const count = changes.records.size;
  if (count === 0) return [];
  const stampOf = (index: string) => stamp("escrow", network, count, index);
  return [
    reserveStamps("escrow", network, count, changes.now),
    ...writeRecords(changes, stampOf("(value->>'stampIndex')")),
    ...writeTransactions(changes, sourceId),
    ...writePastActions(changes),
    ...chargeAgain(changes.lockedAfterEnd),
    ...portions(changes.events).flatMap((events) =>
      writeEvents(events, { network, sourceId, now: changes.now, placeholder: STAMP }, stampOf),
    ),
  ];
}

/** D1 takes two megabytes in one parameter, and a party may make a record of tens of kilobytes. */
const MAX_PARAMETER = 1_000_000;

/** JSON arrays of the rows, each short enough for one parameter: D1 counts its bytes, in UTF-8. */
function portions(rows: object[]): string[] {
  const parts: string[][] = [];
  let bytes = MAX_PARAMETER;
  for (const row of rows) {
    // Rows are large, so each becomes text once.
    const text = JSON.stringify(row);
    const more = Buffer.byteLength(text);
    if (bytes + more > MAX_PARAMETER) {
      parts.push([]);
      bytes = 0;
    }
    parts.at(-1)?.push(text);
    bytes += more;
  }
  return parts.map((texts) => `[${texts.join(",")}]`);
}

function writeRecords(changes: ChangeSet, at: SqlExpression): Statement[] {
  const rows = [...changes.records.values()].map(({ record, moved }, stampIndex) => ({
    ...record,
    ...columnsOf(record),
    stampIndex,
    onChainState: record.state.onChainState,
    utxo: record.state.utxo,
    dueAt: dueAt(record),
    deadline: deadlineToWarnOf(record),
    rev: record.rev + 1,
    movesChain: moved.chain,
    movesAction: moved.action,
    movesAny: moved.chain || moved.action,
    doc: render(record, moved),
  }));
  // Materialized: otherwise each column writes out all of its row's JSON once more.
  return portions(rows).map((part) =>
    statement(
      `INSERT INTO escrow (id, side, network, source_id, source_type, contract_address, policy_id,
         blockchain_identifier, identifier_hash, requested_by_id, terms, state, on_chain_state, utxo,
         created_at, updated_at, last_checked_at, chain_changed_at, action_changed_at, changed_at,
         sequence, rev, doc_version, doc, output, want, under_way, error, expired_at, wallet,
         wallet_removed, due_at, deadline, warned_of)
       WITH item AS MATERIALIZED (SELECT value AS v, ${at.sql} AS at FROM json_each(?))
       SELECT v->>'id', v->>'side', v->>'network', v->>'sourceId', v->>'sourceType',
         v->>'contractAddress', v->>'policyId', v->>'blockchainIdentifier', v->>'identifierHash',
         v->>'requestedById', v->>'terms', v->>'state', v->>'onChainState', v->>'utxo',
         v->>'createdAt', v->>'updatedAt', v->>'lastCheckedAt',
         iif(v->>'movesChain', at, v->>'chainChangedAt'),
         iif(v->>'movesAction', at, v->>'actionChangedAt'),
         iif(v->>'movesAny', at, v->>'changedAt'),
         v->>'sequence', v->>'rev', ?, replace(v->>'doc', ?, ${isoText("at")}),
         v->>'output', v->>'want', v->>'underWay', v->>'error', v->>'expiredAt', v->>'wallet',
         v->>'walletRemoved', v->>'dueAt', v->>'deadline', v->>'warnedOf'
       FROM item WHERE true
       ON CONFLICT (id) DO UPDATE SET
         rev = iif(escrow.rev = excluded.rev - 1, excluded.rev, NULL),
         terms = excluded.terms, state = excluded.state, on_chain_state = excluded.on_chain_state,
         utxo = excluded.utxo, updated_at = excluded.updated_at,
         last_checked_at = excluded.last_checked_at, chain_changed_at = excluded.chain_changed_at,
         action_changed_at = excluded.action_changed_at, changed_at = excluded.changed_at,
         sequence = excluded.sequence, doc_version = excluded.doc_version, doc = excluded.doc,
         output = excluded.output, want = excluded.want, under_way = excluded.under_way,
         error = excluded.error, expired_at = excluded.expired_at, wallet = excluded.wallet,
         wallet_removed = excluded.wallet_removed, due_at = excluded.due_at, deadline = excluded.deadline, warned_of = excluded.warned_of`,
      ...at.params,
      part,
      DOC_VERSION,
      STAMP,
    ),
  );
}

function writeTransactions(changes: ChangeSet, sourceId: string): Statement[] {
  const rows = changes.transactions.map(({ recordId, transaction, status, want, applied }) => ({
    recordId,
    txHash: transaction.txHash,
    id: transaction.id,
    status,
    blockHeight: transaction.blockHeight,
    txIndex: applied?.txIndex ?? null,
    before: applied?.before ?? null,
    fields: JSON.stringify(transaction),
    doc: renderTransaction(transaction),
    want: want && JSON.stringify(want),
  }));
  return portions(rows).map((part) =>
    statement(
      `INSERT INTO escrow_transaction (record_id, tx_hash, id, source_id, status, block_height,
         tx_index, before, fields, doc, want)
       SELECT value->>'recordId', value->>'txHash', value->>'id', ?, value->>'status',
         value->>'blockHeight', value->>'txIndex', value->>'before', value->>'fields',
         value->>'doc', value->>'want'
       FROM json_each(?) WHERE true
       ON CONFLICT (record_id, tx_hash) DO UPDATE SET status = excluded.status,
         block_height = excluded.block_height, tx_index = excluded.tx_index,
         before = excluded.before, fields = excluded.fields, doc = excluded.doc`,
      sourceId,
      part,
    ),
  );
}

function writePastActions({ pastActions }: ChangeSet): Statement[] {
  return portions(pastActions).map((part) =>
    statement(
      `INSERT INTO escrow_action (record_id, id, tx_hash, doc)
       SELECT value->>'recordId', value->>'id', value->>'txHash', value->>'doc' FROM json_each(?)`,
      part,
    ),
  );
}
