import type { MovedKind } from "../../archive/moved-kind.ts";
import { NETWORKS } from "../../chain/network.ts";
import { type Statement, statement } from "../../db/client.ts";
import type { SqlExpression } from "../../db/clock.ts";
import { addToCounts, type CountedEscrow } from "./archived-counts.ts";
import { NEWEST_TRANSACTION_SQL } from "./escrow-row.ts";
import { FINAL_CONDITION } from "./predicates.ts";
import { escrow, escrowAction, escrowRequest, escrowTransaction } from "./tables.ts";

/** SQL on a row of `escrow`: no archive has it. */
const IS_HERE_SQL = `EXISTS (SELECT 1 FROM escrow_identity AS place
  WHERE place.identifier_hash = unhex(escrow.identifier_hash) AND place.side = escrow.side
    AND place.source_id = escrow.source_id AND place.id = escrow.id AND place.archive IS NULL)`;

/**
 * SQL on a row of `escrow`: the database has no older record of the same identifier, of a source that was removed.
 * What looks for a newer record in the database alone therefore misses none.
 */
const IS_OLDEST_HERE_SQL = `NOT EXISTS (SELECT 1 FROM escrow_identity AS older
  WHERE older.identifier_hash = unhex(escrow.identifier_hash) AND older.side = escrow.side
    AND older.id < escrow.id AND older.archive IS NULL)`;

/**
 * SQL on a row of `escrow`: nothing is pending for it in other tables. A rollback reaches a block as long as
 * there is undo data of it.
 */
const NOTHING_PENDING_SQL = `NOT EXISTS (SELECT 1 FROM escrow_transaction AS made LEFT JOIN escrow_undo AS undo
      ON undo.source_id = escrow.source_id AND undo.block_height = made.block_height
        AND undo.record_id = escrow.id
    WHERE made.record_id = escrow.id AND (made.status = 'Pending' OR undo.record_id IS NOT NULL))
  AND NOT EXISTS (SELECT 1 FROM dispute_proposal AS proposal
    WHERE proposal.identifier_hash = escrow.identifier_hash
      AND proposal.state IN ('Collecting', 'SettleRequested', 'SettleInitiated'))
  AND NOT EXISTS (SELECT 1 FROM escrow_open AS open WHERE open.id = escrow.id)`;

/** SQL of the place and the revision of a row of `escrow`, in an archive. */
export const PLACE_SQL = `json_object('identifierHash', identifier_hash, 'side', side, 'sourceId', source_id,
  'revision', revision) AS place`;

/** SQL of the places of an archive's rows. @param ids - JSON array */
export function selectEscrowPlaces(ids: string): SqlExpression {
  return {
    sql: `SELECT id, ${PLACE_SQL} FROM escrow WHERE id IN (SELECT value FROM json_each(?))`,
    params: [ids],
  };
}

/** SQL of the ids that an archive has, of places that `PLACE_SQL` told. @param places - JSON array */
export function findNamedEscrows(archive: number, places: string): SqlExpression {
  return {
    sql: `SELECT place.id FROM json_each(?1) AS told CROSS JOIN escrow_identity AS place
        ON place.identifier_hash = unhex(told.value->>'identifierHash')
          AND place.side = told.value->>'side' AND place.source_id = told.value->>'sourceId'
      WHERE place.archive = ?2`,
    params: [places, archive],
  };
}

/** Payments and purchases, with their histories and what their requests left. */
export const MOVED_ESCROWS: MovedKind = {
  kind: "escrow",
  scopes: NETWORKS,
  isOfScopeSql: "network = ?",
  isImmutable: false,
  table: escrow,
  addedColumns: {
    newest_transaction: NEWEST_TRANSACTION_SQL,
    has_note: `(SELECT 1 FROM escrow_request WHERE record_id = escrow.id AND metadata IS NOT NULL)`,
  },
  revisionSql: "revision",
  children: [escrowTransaction, escrowAction, escrowRequest],
  ownerColumn: "record_id",
  rangeColumns: Object.fromEntries(
    ["id", "chain_changed_at", "action_changed_at", "changed_at", "block_time"].map((column) => [
      column,
      column,
    ]),
  ),
  portionRecords: 50,
  maxAgeMs: Number.POSITIVE_INFINITY,
  finalRows: "escrow INDEXED BY escrow_final",
  changedAt: "changed_at",
  isFinalSql: () => `${FINAL_CONDITION} AND ${NOTHING_PENDING_SQL} AND ${IS_HERE_SQL}
    AND ${IS_OLDEST_HERE_SQL}`,
  stepsSql: `((SELECT count(*) FROM escrow_transaction WHERE record_id = escrow.id)
    + (SELECT count(*) FROM escrow_action WHERE record_id = escrow.id))`,
  summarySql: `json_object('id', id, 'side', side, 'network', network, 'sourceId', source_id,
    'identifierHash', identifier_hash, 'sourceType', source_type, 'contractAddress', contract_address,
    'onChainState', on_chain_state,
    'walletIds', iif(wallet_id IS NULL, json(coalesce(wallet_ids, '[]')), json_array(wallet_id)))`,
  buildMoveStatements,
};

function buildMoveStatements(archive: number, summaries: readonly string[]): Statement[] {
  const escrows = summaries.map((summary) => JSON.parse(summary) as CountedEscrow);
  return [placeIdentities(archive, summaries), addToCounts(escrows, 1)];
}

/**
 * Names the place of records in their identities.
 *
 * @param archive - null: the database
 * @param summaries - of `MOVED_ESCROWS.summarySql`
 */
export function placeIdentities(archive: number | null, summaries: readonly string[]): Statement {
  return statement(
    `UPDATE escrow_identity SET archive = ?1
     WHERE (identifier_hash, side, source_id) IN (
       SELECT unhex(value->>'identifierHash'), value->>'side', value->>'sourceId' FROM json_each(?2))`,
    archive,
    `[${summaries.join(",")}]`,
  );
}
