import { sql } from "drizzle-orm";
import { integer, sqliteTable, text, uniqueIndex } from "drizzle-orm/sqlite-core";
import { NETWORKS } from "../../chain/network.ts";
import type { WalletTask } from "../queue/tables.ts";

/** The name of the feature in stored transactions. */
export const REFERENCE_SCRIPT_FEATURE = "reference-script";

export const REFERENCE_SCRIPT_STATES = [
  "PublishRequested",
  "PublishInitiated",
  "Published",
  "WithdrawRequested",
  "WithdrawInitiated",
  "Withdrawn",
  "Failed",
] as const;
export type ReferenceScriptState = (typeof REFERENCE_SCRIPT_STATES)[number];

/**
 * Scripts that outputs of managed wallets carry, for transactions to read instead of holding them. Ledger.
 * Only the wallet's object and the request that withdraws it change the row; `revision` guards every write.
 */
export const referenceScript = sqliteTable(
  "reference_script",
  {
    id: text("id").primaryKey(),
    network: text("network", { enum: NETWORKS }).notNull(),
    sourceId: text("source_id").notNull(),
    /** The wallet whose output carries it. */
    walletVkey: text("wallet_vkey").notNull(),
    walletAddress: text("wallet_address").notNull(),
    /** Hex. */
    scriptHash: text("script_hash").notNull(),
    /** As witnesses carry it, hex. */
    cbor: text("cbor").notNull(),
    state: text("state", { enum: REFERENCE_SCRIPT_STATES }).notNull(),
    /** `<transaction>#<index>`: the output that carries it, or last did; null before the first. */
    output: text("output"),
    /** Native minor units in it, decimal text. */
    deposit: text("deposit"),
    /** Hash of the last transaction that published or withdrew it. */
    txHash: text("tx_hash"),
    /** Why it failed, or could not be withdrawn; null otherwise. What it waits for is on its task. */
    error: text("error"),
    createdById: text("created_by_id").notNull(),
    createdAt: integer("created_at").notNull(),
    updatedAt: integer("updated_at").notNull(),
    revision: integer("revision").notNull(),
  },
  (table) => [
    uniqueIndex("reference_script_of_source")
      .on(table.sourceId)
      .where(sql`state NOT IN ('Withdrawn', 'Failed')`),
  ],
);

export type ReferenceScriptRow = typeof referenceScript.$inferSelect & { task: WalletTask | null };
