import { integer, sqliteTable, text, uniqueIndex } from "drizzle-orm/sqlite-core";

/**
 * Up to which balance of a unit a wallet is filled up by its source's Funding wallet. Core. Amounts are
 * minor units, decimal text.
 *
 * `version` guards the batch of a check, which writes the top-up too: one that read an older row aborts,
 * so a balance is answered once.
 */
export const topUpRule = sqliteTable(
  "top_up_rule",
  {
    id: text("id").primaryKey(),
    walletId: text("wallet_id").notNull(),
    /** `""` for the native coin, else policy id and asset name in hex. */
    unit: text("unit").notNull(),
    below: text("below").notNull(),
    upTo: text("up_to").notNull(),
    /** Null: the default, which follows from the other two. */
    perDay: text("per_day"),
    enabled: integer("enabled", { mode: "boolean" }).notNull(),
    /** At the last check; null before it. */
    balance: text("balance"),
    checkedAt: integer("checked_at"),
    /** Why nothing was sent then although the balance was low; null otherwise. */
    waitsFor: text("waits_for"),
    version: integer("version").notNull(),
    createdById: text("created_by_id").notNull(),
    createdAt: integer("created_at").notNull(),
    updatedAt: integer("updated_at").notNull(),
  },
  (table) => [uniqueIndex("top_up_rule_unit").on(table.walletId, table.unit)],
);

export type TopUpRuleRow = typeof topUpRule.$inferSelect;
