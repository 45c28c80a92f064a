import { sql } from "drizzle-orm";
import {
  index,
  integer,
  type SQLiteColumnBuilderBase,
  sqliteTable,
  text,
  uniqueIndex,
} from "drizzle-orm/sqlite-core";

const createRuleColumns = () => ({
  id: text("id").primaryKey(),
  walletId: text("wallet_id").notNull(),
  /** `""` for Cardano's native coin, else policy id and asset name in hex; on EVM chains the asset. */
  unit: text("unit").notNull(),
  enabled: integer("enabled", { mode: "boolean" }).notNull(),
  /** At the last check; null before it. */
  balance: text("balance"),
  checkedAt: integer("checked_at"),
  /** When the next check is due, epoch milliseconds; 0: at once. */
  dueAt: integer("due_at").notNull(),
  version: integer("version").notNull(),
  createdById: text("created_by_id").notNull(),
  createdAt: integer("created_at").notNull(),
  updatedAt: integer("updated_at").notNull(),
});

/**
 * A table of rules about balances, at most one for a wallet and a unit. Core. Amounts are minor units,
 * decimal text.
 *
 * `version` guards the batch of a check: a check that read an older row aborts, so that each outcome is
 * written once.
 */
function createRuleTable<
  Name extends string,
  Columns extends Record<string, SQLiteColumnBuilderBase>,
>(name: Name, columns: Columns) {
  return sqliteTable(name, { ...createRuleColumns(), ...columns }, (table) => [
    uniqueIndex(`${name}_unit`).on(table.walletId, table.unit),
    index(`${name}_due`).on(table.dueAt).where(sql`enabled = 1`),
  ]);
}

/** A table of rules with a threshold: a balance below the threshold is reported. */
export function createBalanceRuleTable<Name extends string>(name: Name) {
  return createRuleTable(name, {
    /** Less than this is low. */
    threshold: text("threshold").notNull(),
    /** `Unknown` until the first check. */
    status: text("status", { enum: ["Unknown", "Healthy", "Low"] }).notNull(),
    /** The sequence of the rule's last event. */
    sequence: integer("sequence").notNull(),
  });
}

export const lowBalanceRule = createBalanceRuleTable("low_balance_rule");

/** Rules by which a Funding wallet of the same payment source fills up a wallet. */
export const topUpRule = createRuleTable("top_up_rule", {
  /** A balance of less is filled up. */
  below: text("below").notNull(),
  upTo: text("up_to").notNull(),
  /** Null: the default, which follows from the other two. */
  perDay: text("per_day"),
  /** Why nothing was sent although the balance was low; null otherwise. */
  waitsFor: text("waits_for"),
});

export type BalanceRuleTable = ReturnType<typeof createBalanceRuleTable<string>>;
export type BalanceRuleRow = BalanceRuleTable["$inferSelect"];
export type TopUpRuleRow = typeof topUpRule.$inferSelect;

/** What all tables of rules have. */
export type RuleTable = ReturnType<typeof createRuleTable<string, Record<never, never>>>;
export type RuleRow = RuleTable["$inferSelect"];
