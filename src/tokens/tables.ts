import { integer, sqliteTable, text } from "drizzle-orm/sqlite-core";

/** What people call a token, and how many decimals they write: an Admin's entry. Core. */
export const unit = sqliteTable("unit", {
  /** Policy id and asset name in hex. */
  unit: text("unit").primaryKey(),
  ticker: text("ticker").notNull(),
  decimals: integer("decimals").notNull(),
  updatedById: text("updated_by_id").notNull(),
  /** Epoch milliseconds. */
  updatedAt: integer("updated_at").notNull(),
});
