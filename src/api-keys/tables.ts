import { sql } from "drizzle-orm";
import {
  check,
  integer,
  primaryKey,
  sqliteTable,
  text,
  uniqueIndex,
} from "drizzle-orm/sqlite-core";

/**
 * An API key. Its token is not stored: only its hash and its last four characters. Core.
 */
export const apiKey = sqliteTable(
  "api_key",
  {
    id: text("id").primaryKey(),
    /** HMAC-SHA-256 of the token under `API_KEY_SECRET`, hex. */
    tokenHash: text("token_hash").notNull(),
    /** `*****` and the token's last four characters. */
    maskedToken: text("masked_token").notNull(),
    /** Display name. */
    name: text("name").notNull().default(""),
    permission: text("permission", { enum: ["Admin", "User"] }).notNull(),
    status: text("status", { enum: ["Active", "Revoked"] }).notNull(),
    canPay: integer("can_pay", { mode: "boolean" }).notNull(),
    /** JSON array of networks and CAIP-2 ids; ignored for an Admin. */
    networkLimit: text("network_limit").notNull(),
    usageLimited: integer("usage_limited", { mode: "boolean" }).notNull(),
    maxUsageCredits: integer("max_usage_credits").notNull(),
    accumulatedUsageCredits: integer("accumulated_usage_credits").notNull(),
    /** JSON array of the ids of the wallets that it may use; null: any. */
    walletLimit: text("wallet_limit"),
    /** JSON array of `{network, unit, amount}`; null: its purchases cost what they cost. */
    spendingLimits: text("spending_limits"),
    /** JSON array of addresses to which it may turn revenue and refunds. */
    returnAddresses: text("return_addresses").notNull().default("[]"),
    /** When it was last used, to the hour; null: not yet. */
    lastUsedAt: integer("last_used_at"),
    createdById: text("created_by_id").notNull(),
    /** Epoch milliseconds, as all times. */
    createdAt: integer("created_at").notNull(),
    updatedAt: integer("updated_at").notNull(),
    deletedAt: integer("deleted_at"),
  },
  (table) => [
    uniqueIndex("api_key_token_hash").on(table.tokenHash),
    // A charge beyond the limit aborts its batch by this name; see credits.ts.
    check(
      "api_key_credits",
      sql`${table.accumulatedUsageCredits} BETWEEN 0 AND ${table.maxUsageCredits}`,
    ),
  ],
);

/** What limited keys have spent on purchases, minor units. Core. */
export const keySpending = sqliteTable(
  "key_spending",
  {
    apiKeyId: text("api_key_id").notNull(),
    network: text("network").notNull(),
    unit: text("unit").notNull(),
    spent: integer("spent").notNull(),
    /** The limit at the last charge. */
    spendingLimit: integer("spending_limit").notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.apiKeyId, table.network, table.unit] }),
    // A charge beyond the limit aborts its batch by this name; see spending-limits.ts.
    check("key_spending_limit", sql`${table.spent} BETWEEN 0 AND ${table.spendingLimit}`),
  ],
);
