import { integer, sqliteTable, text, uniqueIndex } from "drizzle-orm/sqlite-core";

/**
 * A threshold below which a wallet's balance of a unit is reported. Core.
 *
 * `version` guards the batch of a check: one that read an older row aborts, so each crossing makes
 * one event.
 */
export const lowBalanceRule = sqliteTable(
  "low_balance_rule",
  {
    id: text("id").primaryKey(),
    walletId: text("wallet_id").notNull(),
    /** `""` for the native coin, else policy id and asset name in hex. */
    unit: text("unit").notNull(),
    /** Minor units, decimal text: less than this is low. */
    threshold: text("threshold").notNull(),
    enabled: integer("enabled", { mode: "boolean" }).notNull(),
    /** `Unknown` until the first check after it was created or changed. */
    status: text("status", { enum: ["Unknown", "Healthy", "Low"] }).notNull(),
    /** Minor units, decimal text, at the last check; null before it. */
    balance: text("balance"),
    checkedAt: integer("checked_at"),
    /** Events written so far. */
    sequence: integer("sequence").notNull(),
    version: integer("version").notNull(),
    createdById: text("created_by_id").notNull(),
    createdAt: integer("created_at").notNull(),
    updatedAt: integer("updated_at").notNull(),
  },
  (table) => [uniqueIndex("low_balance_rule_unit").on(table.walletId, table.unit)],
);

export type RuleRow = typeof lowBalanceRule.$inferSelect;
