import { sql } from "drizzle-orm";
import { index, integer, sqliteTable, text, uniqueIndex } from "drizzle-orm/sqlite-core";
import { NETWORKS } from "../../chain/network.ts";
import type { WalletTask } from "../../wallets/queue/tables.ts";
import type { LiveOutput } from "../model/escrow-record.ts";
import type { SettlementSplit } from "../model/split.ts";
import type { AdminSignature } from "./settlement-message.ts";

/** The name of the feature in stored transactions. */
export const DISPUTE_FEATURE = "dispute";

export const PROPOSAL_STATES = [
  "Collecting",
  "SettleRequested",
  "SettleInitiated",
  "Settled",
  "Replaced",
  "Withdrawn",
  "Expired",
  "Failed",
] as const;
export type ProposalState = (typeof PROPOSAL_STATES)[number];

/** A proposal that waits, so that another one can take its place. */
export const OPEN_PROPOSAL_STATES: readonly ProposalState[] = ["Collecting", "SettleRequested"];

/** A transaction that waits for signatures. */
interface PreparedSettlement {
  /** CBOR without signatures, hex. */
  unsigned: string;
  /** See `serializeContent` of wallets' transactions. */
  content: string;
}

/**
 * Proposals to settle disputes, with the signatures of administrators. Of an escrow's output one stands.
 * Once enough have signed, only the wallet's object writes the row; `revision` guards every write. Ledger.
 */
export const disputeProposal = sqliteTable(
  "dispute_proposal",
  {
    id: text("id").primaryKey(),
    network: text("network", { enum: NETWORKS }).notNull(),
    sourceId: text("source_id").notNull(),
    /** SHA-256 of the escrow's identifier, hex. */
    identifierHash: text("identifier_hash").notNull(),
    /** The output that is settled. */
    output: text("output", { mode: "json" }).$type<LiveOutput>().notNull(),
    /** The wallet that pays the network for it. */
    walletVkey: text("wallet_vkey").notNull(),
    split: text("split", { mode: "json" }).$type<SettlementSplit>().notNull(),
    /** What administrators sign, hex: of Web3ChainV1 the hash of the transaction. */
    message: text("message").notNull(),
    /** Of Web3ChainV1: the transaction that they sign. */
    prepared: text("prepared", { mode: "json" }).$type<PreparedSettlement>(),
    /** Of Web3ChainV1: name of the wallet's output that pays for it. */
    reservedOutput: text("reserved_output"),
    /** Of Web3ChainV1: the end of the transaction's validity, epoch milliseconds. */
    expiresAt: integer("expires_at"),
    /** Key hashes of those who sign, as often as each counts. */
    administrators: text("administrators", { mode: "json" }).$type<readonly string[]>().notNull(),
    required: integer("required").notNull(),
    signatures: text("signatures", { mode: "json" }).$type<readonly AdminSignature[]>().notNull(),
    /** From when the contract allows it, epoch milliseconds. */
    opensAt: integer("opens_at").notNull(),
    state: text("state", { enum: PROPOSAL_STATES }).notNull(),
    txHash: text("tx_hash"),
    /** Why it failed; null otherwise. What it waits for is on its task. */
    error: text("error"),
    createdById: text("created_by_id").notNull(),
    createdAt: integer("created_at").notNull(),
    updatedAt: integer("updated_at").notNull(),
    revision: integer("revision").notNull(),
  },
  (table) => [
    uniqueIndex("dispute_proposal_standing")
      .on(table.sourceId, sql`output->>'utxo'`)
      .where(sql`state IN ('Collecting', 'SettleRequested')`),
    index("dispute_proposal_escrow").on(table.identifierHash, table.id),
  ],
);

export type ProposalRow = typeof disputeProposal.$inferSelect & { task: WalletTask | null };
