/** Tables of an archive: the columns of `tables.ts`, and the indexes of what is asked of final records. */
import { sql } from "drizzle-orm";
import { type AnySQLiteColumn, index, integer, sqliteTable, text } from "drizzle-orm/sqlite-core";
import {
  BILLABLE_AT_SQL,
  BILLABLE_CONDITION,
  BUYER_VKEY_SQL,
  ENDED_CONDITION,
} from "./predicates.ts";
import { ESCROW_REQUEST_COLUMNS, ESCROW_TABLE_COLUMNS } from "./tables.ts";

export { escrowAction, escrowTransaction } from "./tables.ts";

const ARCHIVED_ESCROW_TABLE_COLUMNS = {
  ...ESCROW_TABLE_COLUMNS,
  // What a page would read another row of each escrow for.
  /** `NEWEST_TRANSACTION_SQL`. */
  newestTransaction: text("newest_transaction"),
  /** Whether its request had a note, which may have been erased since. */
  hasNote: integer("has_note"),
};

/**
 * Copies of final records. A copy is the record itself only while `escrow_identity` of the database names this
 * archive; others are shown to nobody.
 */
export const archivedEscrow = sqliteTable("escrow", ARCHIVED_ESCROW_TABLE_COLUMNS, (table) => {
  const { side, network, sourceType, contractAddress, walletId } = table;
  const createPageIndexes = (name: string, ...order: [AnySQLiteColumn, ...AnySQLiteColumn[]]) => [
    index(`escrow_${name}`).on(side, network, sourceType, ...order),
    index(`escrow_contract_${name}`).on(side, network, contractAddress, sourceType, ...order),
    index(`escrow_wallet_${name}`).on(walletId, side, network, sourceType, ...order),
  ];
  return [
    ...createPageIndexes("chain_changed", table.chainChangedAt, table.id),
    ...createPageIndexes("action_changed", table.actionChangedAt, table.id),
    ...createPageIndexes("changed", table.changedAt, table.id),
    ...createPageIndexes("newest", table.id),
    index("escrow_state_newest").on(side, network, table.onChainState, sourceType, table.id),
    index("escrow_agent_newest").on(side, network, table.agentIdentifier, sourceType, table.id),
    index("escrow_ended").on(side, network, table.blockTime).where(sql.raw(ENDED_CONDITION)),
    index("escrow_agent_ended")
      .on(side, network, table.agentIdentifier, table.blockTime)
      .where(sql.raw(ENDED_CONDITION)),
    index("escrow_billed")
      .on(network, sql.raw(BUYER_VKEY_SQL), sql.raw(BILLABLE_AT_SQL))
      .where(sql.raw(BILLABLE_CONDITION)),
  ];
});

export const archivedEscrowRequest = sqliteTable(
  "escrow_request",
  ESCROW_REQUEST_COLUMNS,
  (table) => [
    // What the erasure of a key removes.
    index("escrow_request_metadata")
      .on(table.requestedById, table.recordId)
      .where(sql`metadata IS NOT NULL`),
  ],
);
