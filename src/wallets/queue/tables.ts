import { sql } from "drizzle-orm";
import { index, integer, primaryKey, sqliteTable, text } from "drizzle-orm/sqlite-core";
import { NETWORKS } from "../../chain/network.ts";
import { REASON_CODES } from "../../reason-codes.ts";

/**
 * Open tasks of wallets. A subject, for example a transfer, has at most one. The row exists until the task's
 * transaction is final or the task has ended otherwise. The subject's revision guards the row. Tasks of
 * escrows are on the escrows' records. Ledger.
 */
export const walletTask = sqliteTable(
  "wallet_task",
  {
    feature: text("feature").notNull(),
    /** Id of the record that the task is for. */
    subjectId: text("subject_id").notNull(),
    /** Names the task in transactions: the subject's id, and its step if the subject has several. */
    id: text("id").notNull(),
    network: text("network", { enum: NETWORKS }).notNull(),
    walletVkey: text("wallet_vkey").notNull(),
    sourceId: text("source_id").notNull(),
    /** Epoch milliseconds, as the other times. */
    requestedAt: integer("requested_at").notNull(),
    /** When the wallet's object continues; null: a transaction is pending, or waits to be final. */
    dueAt: integer("due_at"),
    /** Failed tries. */
    attempts: integer("attempts").notNull(),
    /** Null while the task waits for nothing but its turn. */
    reasonCode: text("reason_code", { enum: REASON_CODES }),
    /** The same for people. */
    reason: text("reason"),
    updatedAt: integer("updated_at").notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.feature, table.subjectId] }),
    index("wallet_task_due")
      .on(table.network, table.walletVkey, table.dueAt)
      .where(sql`due_at IS NOT NULL`),
  ],
);

export type WalletTask = typeof walletTask.$inferSelect;
