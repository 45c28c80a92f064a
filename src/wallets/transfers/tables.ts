import { sql } from "drizzle-orm";
import { index, integer, sqliteTable, text } from "drizzle-orm/sqlite-core";
import { NETWORKS } from "../../chain/network.ts";
import type { WalletTask } from "../queue/tables.ts";

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

/** That a top-up is under way. */
export const OPEN_TOP_UP_CONDITION = sql`top_up_wallet_id IS NOT NULL AND state IN ('Pending', 'Sent')`;

/**
 * Payments out of managed wallets to any address. Ledger. Only the wallet's object changes the
 * row; `revision` guards every write.
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
    /** Why it failed; null otherwise. What it waits for is on its task. */
    error: text("error"),
    tx: text("tx", { mode: "json" }).$type<TransferTransaction>(),
    /** Of a top-up: how many events told of each of its transactions, by their `batchId`. */
    eventCounts: text("event_counts", { mode: "json" }).$type<Record<string, number>>().notNull(),
    createdById: text("created_by_id").notNull(),
    createdAt: integer("created_at").notNull(),
    updatedAt: integer("updated_at").notNull(),
    /** When the chain last decided a transaction; null before the first. */
    lastCheckedAt: integer("last_checked_at"),
    revision: integer("revision").notNull(),
  },
  (table) => [
    index("transfer_newest").on(table.network, table.id),
    index("transfer_wallet").on(table.walletId, table.id),
    index("transfer_address").on(table.walletAddress, table.id),
    index("transfer_top_up")
      .on(table.topUpWalletId, table.updatedAt)
      .where(sql`top_up_wallet_id IS NOT NULL`),
    index("transfer_top_up_open").on(table.topUpWalletId).where(OPEN_TOP_UP_CONDITION),
  ],
);

export type TransferRow = typeof transfer.$inferSelect & { task: WalletTask | null };

/** The name of transfers in stored transactions. */
export const TRANSFER_FEATURE = "transfer";

/** Columns that change during a transfer's life. */
export type TransferChange = Partial<
  Pick<TransferRow, "state" | "error" | "tx" | "lastCheckedAt" | "eventCounts">
>;

/** What a transfer keeps of its transaction, beside the transaction itself. */
export type TransferDetail = {
  /** Native minor units that it pays, decimal text. */
  coin: string;
  /** Names the transaction in events. */
  batchId: string;
};
