import { sql } from "drizzle-orm";
import { index, integer, sqliteTable, text, uniqueIndex } from "drizzle-orm/sqlite-core";
import { NETWORKS } from "../../chain/network.ts";
import { AUTOMATION_MODES } from "../../sources/automation-mode.ts";

/** What a wallet is for: it locks funds, is paid, or fills up the others. */
export const WALLET_ROLES = ["Purchasing", "Selling", "Funding"] as const;
export type WalletRole = (typeof WALLET_ROLES)[number];

/** A wallet whose mnemonic we hold, in the role it plays for one source. Core. */
export const managedWallet = sqliteTable(
  "managed_wallet",
  {
    id: text("id").primaryKey(),
    sourceId: text("source_id").notNull(),
    network: text("network", { enum: NETWORKS }).notNull(),
    role: text("role", { enum: WALLET_ROLES }).notNull(),
    /** Payment key hash, hex. */
    vkey: text("vkey").notNull(),
    address: text("address").notNull(),
    /** Sealed for (`managed_wallet`, id, `mnemonic`); empty once it was removed and nothing needs it. */
    mnemonic: text("mnemonic").notNull(),
    note: text("note").notNull(),
    collectionAddress: text("collection_address"),
    /** The default is that of wallets from before there was a choice. */
    drives: text("drives", { enum: AUTOMATION_MODES }).notNull().default("nothing"),
    createdById: text("created_by_id").notNull(),
    createdAt: integer("created_at").notNull(),
    deletedAt: integer("deleted_at"),
  },
  (table) => [
    uniqueIndex("managed_wallet_vkey").on(table.network, table.vkey).where(sql`deleted_at IS NULL`),
    index("managed_wallet_source").on(table.sourceId, table.role),
    // What the cron looks for: removed wallets whose keys may still be needed.
    index("managed_wallet_retained")
      .on(table.network)
      .where(sql`deleted_at IS NOT NULL AND mnemonic <> ''`),
  ],
);

/** A managed wallet as it is stored, its mnemonic sealed. */
export type WalletRow = typeof managedWallet.$inferSelect;
