import { sql } from "drizzle-orm";
import { index, integer, sqliteTable, text, uniqueIndex } from "drizzle-orm/sqlite-core";
import { NETWORKS } from "../../chain/network.ts";

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
 * Once made, only the wallet's object writes the row, and the request that withdraws it; `rev` guards
 * every write.
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
    /** Why it failed, or what it waits for; null otherwise. */
    error: text("error"),
    /** Failed tries of what is asked for. */
    failures: integer("failures").notNull(),
    /** Epoch milliseconds from which the wallet's object continues; null: nothing to do. */
    dueAt: integer("due_at"),
    createdById: text("created_by_id").notNull(),
    createdAt: integer("created_at").notNull(),
    updatedAt: integer("updated_at").notNull(),
    rev: integer("rev").notNull(),
  },
  (table) => [
    uniqueIndex("reference_script_of_source")
      .on(table.sourceId)
      .where(sql`state NOT IN ('Withdrawn', 'Failed')`),
    index("reference_script_open")
      .on(table.network, table.walletVkey, table.dueAt)
      .where(sql`due_at IS NOT NULL`),
  ],
);

export type ReferenceScriptRow = typeof referenceScript.$inferSelect;
