import { sql } from "drizzle-orm";
import {
  type AnySQLiteColumn,
  index,
  integer,
  primaryKey,
  sqliteTable,
  text,
  uniqueIndex,
} from "drizzle-orm/sqlite-core";
import { BILLABLE, BILLABLE_AT } from "./billable.ts";

/**
 * Payments (we hold the seller's wallet) and purchases (we hold the buyer's). One lock makes one
 * row of each side when both wallets are ours. Ledger.
 *
 * `terms`, `state` and the columns are the truth. `doc` is `render.ts` of them, made when the row
 * is written; nothing is ever decided by reading it.
 */
export const escrow = sqliteTable(
  "escrow",
  {
    id: text("id").primaryKey(),
    side: text("side", { enum: ["payment", "purchase"] }).notNull(),
    network: text("network", { enum: ["Preprod", "Mainnet"] }).notNull(),
    sourceId: text("source_id").notNull(),
    sourceType: text("source_type", { enum: ["Web3ChainV1", "Web3ChainV2"] }).notNull(),
    contractAddress: text("contract_address").notNull(),
    policyId: text("policy_id").notNull(),
    blockchainIdentifier: text("blockchain_identifier").notNull(),
    /** SHA-256 of the identifier, hex: what it is looked up by. */
    identifierHash: text("identifier_hash").notNull(),
    requestedById: text("requested_by_id").notNull(),
    /** `Terms` as JSON: what the lock fixed. */
    terms: text("terms").notNull(),
    /** `ChainState` as JSON: what transactions change. */
    state: text("state").notNull(),
    /** Copied from `state` for filters. */
    onChainState: text("on_chain_state"),
    /** Copied from `state`: the output that holds the funds (`hash#index`), null when none does. */
    utxo: text("utxo"),
    createdAt: integer("created_at").notNull(),
    updatedAt: integer("updated_at").notNull(),
    lastCheckedAt: integer("last_checked_at"),
    /** The three change stamps, from the `escrow` clock of the network; see `db/clock.ts`. */
    chainChangedAt: integer("chain_changed_at").notNull(),
    actionChangedAt: integer("action_changed_at").notNull(),
    changedAt: integer("changed_at").notNull(),
    /** Events written so far. */
    sequence: integer("sequence").notNull(),
    /** Guards every write: a writer that read an older row aborts. */
    rev: integer("rev").notNull(),
    /** Version of `render.ts` that made `doc`; another one is rendered again when read. */
    docVersion: integer("doc_version").notNull(),
    doc: text("doc").notNull(),
  },
  (table) => {
    const page = (name: string, stamp: AnySQLiteColumn) => [
      index(`escrow_${name}`).on(table.side, table.network, table.sourceType, stamp, table.id),
      index(`escrow_contract_${name}`).on(
        table.side,
        table.network,
        table.contractAddress,
        table.sourceType,
        stamp,
        table.id,
      ),
    ];
    return [
      ...page("chain_changed", table.chainChangedAt),
      ...page("action_changed", table.actionChangedAt),
      ...page("changed", table.changedAt),
      // What the lists walk, newest first: all of a side, a contract's, those in a state.
      index("escrow_newest").on(table.side, table.network, table.sourceType, table.id),
      index("escrow_contract_newest").on(
        table.side,
        table.network,
        table.contractAddress,
        table.sourceType,
        table.id,
      ),
      index("escrow_state_newest").on(
        table.side,
        table.network,
        table.onChainState,
        table.sourceType,
        table.id,
      ),
      uniqueIndex("escrow_identifier").on(table.identifierHash, table.side, table.sourceId),
      index("escrow_utxo").on(table.sourceId, table.utxo),
      // Records with a transaction that we sent and that is not settled yet.
      index("escrow_initiated")
        .on(table.sourceId)
        .where(sql`state->>'$.nextAction.requestedAction' GLOB '*Initiated'`),
      // What a monthly invoice looks for: a buyer's payments that became billable in a month.
      index("escrow_billable")
        .on(table.network, sql`terms->>'buyerVkey'`, sql.raw(BILLABLE_AT))
        .where(sql.raw(BILLABLE)),
    ];
  },
);

/**
 * What one transaction did to one record. `before` is the chain-owned state it found: undoing a
 * rollback puts it back. Ledger.
 */
export const escrowTransaction = sqliteTable(
  "escrow_transaction",
  {
    recordId: text("record_id").notNull(),
    txHash: text("tx_hash").notNull(),
    id: text("id").notNull(),
    sourceId: text("source_id").notNull(),
    status: text("status", { enum: ["Confirmed", "RolledBack"] }).notNull(),
    blockHeight: integer("block_height").notNull(),
    txIndex: integer("tx_index").notNull(),
    /** `ChainState` as JSON. */
    before: text("before").notNull(),
    /** `TransactionRecord` as JSON. */
    fields: text("fields").notNull(),
    /** Rendering of `fields`. */
    doc: text("doc").notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.recordId, table.txHash] }),
    index("escrow_transaction_height").on(table.sourceId, table.blockHeight),
  ],
);

/** Actions that a purchase had before its present one. Ledger. */
export const escrowAction = sqliteTable(
  "escrow_action",
  {
    recordId: text("record_id").notNull(),
    id: text("id").notNull(),
    /** The transaction that ended the action; undone with it. Null when the API ended it. */
    txHash: text("tx_hash"),
    doc: text("doc").notNull(),
  },
  (table) => [primaryKey({ columns: [table.recordId, table.id] })],
);
