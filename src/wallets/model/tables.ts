import { sql } from "drizzle-orm";
import { index, integer, primaryKey, sqliteTable, text } from "drizzle-orm/sqlite-core";
import { NETWORKS } from "../../chain/network.ts";
import { REASON_CODES } from "../../reason-codes.ts";
import { TRANSACTION_PHASES } from "./phases.ts";

/**
 * What a wallet's object knows beside its transactions. Ledger. Every batch that stores a
 * transaction, or tells what became of one, moves the row first: `version` and `lastOp` guard it as
 * they do in `source_cursor`.
 */
export const hotWallet = sqliteTable(
  "hot_wallet",
  {
    network: text("network", { enum: NETWORKS }).notNull(),
    /** Payment key hash, hex. */
    vkey: text("vkey").notNull(),
    version: integer("version").notNull(),
    lastOp: text("last_op"),
    /** `<transaction>#<index>`: the output that the last final transaction of the outward chain left. */
    chainRoot: text("chain_root"),
    /** `<transaction>#<index>`: the output that is kept for collateral. */
    collateral: text("collateral"),
    /** Transactions stored so far. */
    sequence: integer("sequence").notNull(),
    /** `ForeignSpend[]` as JSON; null: none. */
    spentElsewhere: text("spent_elsewhere"),
    /** Why the wallet gets nothing done, for people; null: nothing blocks it. */
    blocker: text("blocker"),
    /** The same as a code. */
    blockerCode: text("blocker_code", { enum: REASON_CODES }),
    /** Since when, epoch milliseconds. */
    blockedSince: integer("blocked_since"),
  },
  (table) => [
    primaryKey({ columns: [table.network, table.vkey] }),
    index("hot_wallet_blocked")
      .on(table.network, table.blockedSince)
      .where(sql`blocked_since IS NOT NULL`),
  ],
);

/** The transactions of managed wallets, from the moment they are stored. Ledger. */
export const walletTransaction = sqliteTable(
  "wallet_transaction",
  {
    /** Hex. */
    hash: text("hash").primaryKey(),
    network: text("network", { enum: NETWORKS }).notNull(),
    walletVkey: text("wallet_vkey").notNull(),
    sourceId: text("source_id").notNull(),
    phase: text("phase", { enum: TRANSACTION_PHASES }).notNull(),
    sequence: integer("sequence").notNull(),
    /** JSON array of the feature and the id of each task. */
    tasks: text("tasks").notNull(),
    /** Minor units, decimal text. */
    fee: text("fee").notNull(),
    /** Last slot of its validity. */
    validTo: integer("valid_to").notNull(),
    /** Of its block. */
    blockHeight: integer("block_height"),
    /** Null again once it is final. */
    blockHash: text("block_hash"),
    /** Unix seconds. */
    blockTime: integer("block_time"),
    /** Height of the tip when its validity was first seen to be over. */
    overHeight: integer("over_height"),
    /** Why it ended. */
    error: text("error"),
    /** Of the run that stored it. */
    requestId: text("request_id").notNull(),
    createdAt: integer("created_at").notNull(),
    updatedAt: integer("updated_at").notNull(),
    /** Epoch milliseconds from which it is looked at; null once it is final. */
    dueAt: integer("due_at"),
  },
  (table) => [
    index("wallet_transaction_open")
      .on(table.network, table.walletVkey, table.dueAt)
      .where(sql`due_at IS NOT NULL`),
    // Of the same time, those stored later have a greater rowid, with which each entry ends.
    index("wallet_transaction_newest").on(table.network, table.createdAt),
    index("wallet_transaction_of_wallet").on(table.network, table.walletVkey, table.createdAt),
  ],
);

/**
 * What the wallet needs to know of a transaction, and what it sends. It exists until no rollback can reach
 * the transaction. Ledger.
 */
export const walletTransactionContent = sqliteTable("wallet_transaction_content", {
  hash: text("hash").primaryKey(),
  /** JSON of what never changes: see `spending/model/serialize-transaction.ts`. */
  content: text("content").notNull(),
  /** Signed, base64; null once it is final. */
  cbor: text("cbor"),
});
