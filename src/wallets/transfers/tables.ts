import { sql } from "drizzle-orm";
import { index, integer, sqliteTable, text } from "drizzle-orm/sqlite-core";
import { NETWORKS } from "../../chain/network.ts";

/**
 * How far a transfer is: `Pending` waits for a transaction, `Sent` has one that waits for the
 * confirmations that count. `Failed` is said only when nothing of it can land any more.
 */
export const TRANSFER_STATES = ["Pending", "Sent", "Confirmed", "Failed"] as const;
export type TransferState = (typeof TRANSFER_STATES)[number];

/** An amount of a token, which goes along with the native coin. */
export interface TransferAsset {
  /** Policy id and asset name, hex. */
  unit: string;
  /** Minor units, decimal text. */
  quantity: string;
}

/** The transaction that pays a transfer, or the last that tried to. */
export interface TransferTransaction {
  /** Hex. */
  hash: string;
  /** Native minor units that it pays, decimal text: more than asked for where the ledger wants it. */
  coin: string;
  /** Null until it is in a block. */
  blockHeight: number | null;
  /** Unix seconds. */
  blockTime: number | null;
}

/**
 * Payments out of managed wallets to any address. Ledger. Once made, only the wallet's object writes
 * the row; `rev` and `lastOp` guard every write as `version` does in `source_cursor`.
 */
export const transfer = sqliteTable(
  "transfer",
  {
    id: text("id").primaryKey(),
    network: text("network", { enum: NETWORKS }).notNull(),
    sourceId: text("source_id").notNull(),
    /** The wallet that pays: its id, payment key hash (hex) and address. */
    walletId: text("wallet_id").notNull(),
    walletVkey: text("wallet_vkey").notNull(),
    walletAddress: text("wallet_address").notNull(),
    toAddress: text("to_address").notNull(),
    /** Minor units of the native coin, decimal text. */
    coin: text("coin").notNull(),
    assets: text("assets", { mode: "json" }).$type<TransferAsset[]>().notNull(),
    /** Of a top-up: the rule that asked for it, and the wallet that is topped up; else null. */
    topUpRuleId: text("top_up_rule_id"),
    topUpWalletId: text("top_up_wallet_id"),
    state: text("state", { enum: TRANSFER_STATES }).notNull(),
    /** Why it failed or will fail, or what it waits for; null otherwise. */
    error: text("error"),
    tx: text("tx", { mode: "json" }).$type<TransferTransaction>(),
    /** Of a top-up: how many events told of each of its transactions, by their `batchId`. */
    told: text("told", { mode: "json" }).$type<Record<string, number>>().notNull(),
    /** Failed tries. */
    failures: integer("failures").notNull(),
    /** Epoch milliseconds from which the wallet's object continues; null: nothing to build. */
    dueAt: integer("due_at"),
    createdById: text("created_by_id").notNull(),
    createdAt: integer("created_at").notNull(),
    updatedAt: integer("updated_at").notNull(),
    /** When the chain last decided a transaction; null before the first. */
    lastCheckedAt: integer("last_checked_at"),
    rev: integer("rev").notNull(),
    lastOp: text("last_op"),
  },
  (table) => [
    index("transfer_newest").on(table.network, table.id),
    index("transfer_wallet").on(table.walletId, table.id),
    index("transfer_address").on(table.walletAddress, table.id),
    index("transfer_top_up")
      .on(table.topUpWalletId, table.updatedAt)
      .where(sql`top_up_wallet_id IS NOT NULL`),
    index("transfer_open")
      .on(table.network, table.walletVkey, table.dueAt)
      .where(sql`due_at IS NOT NULL`),
  ],
);

export type TransferRow = typeof transfer.$inferSelect;
