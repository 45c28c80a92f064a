import { sql } from "drizzle-orm";
import { index, integer, sqliteTable, text } from "drizzle-orm/sqlite-core";
import { NETWORKS, PAYMENT_SOURCE_TYPES } from "../chain/network.ts";
import type { RegistrationProfile, RegistrationTransaction, WalletName } from "./registration.ts";
import { REGISTRATION_KINDS, REGISTRATION_STATES } from "./registration-states.ts";

/**
 * Agents and inbox agents that were registered through the API, and how far their registration or
 * deregistration has come on the chain. Ledger.
 *
 * While there is something to do, only the object of the signing wallet writes the row; `rev` and
 * `lastOp` guard every write as `version` does in `source_cursor`.
 */
export const registration = sqliteTable(
  "registration",
  {
    id: text("id").primaryKey(),
    kind: text("kind", { enum: REGISTRATION_KINDS }).notNull(),
    network: text("network", { enum: NETWORKS }).notNull(),
    sourceId: text("source_id").notNull(),
    sourceType: text("source_type", { enum: PAYMENT_SOURCE_TYPES }).notNull(),
    contractAddress: text("contract_address").notNull(),
    policyId: text("policy_id").notNull(),
    /** What the token's metadata says. */
    profile: text("profile", { mode: "json" }).$type<RegistrationProfile>().notNull(),
    /** Copied from `profile` for searches. */
    name: text("name").notNull(),
    state: text("state", { enum: REGISTRATION_STATES }).notNull(),
    /** Why it failed, or what it waits for; null otherwise. */
    error: text("error"),
    /** Policy id and asset name, hex; null until the minting transaction is signed. */
    agentIdentifier: text("agent_identifier"),
    /** The wallet that signs: it pays for the minting, or holds the token to be burned. */
    wallet: text("wallet", { mode: "json" }).$type<WalletName>().notNull(),
    /** Copied from `wallet`. */
    walletVkey: text("wallet_vkey").notNull(),
    /** Who gets the token; null: the wallet that mints it. */
    recipient: text("recipient", { mode: "json" }).$type<WalletName>(),
    /** Native minor units that go with the token, decimal text; null: the least possible. */
    sendFunding: text("send_funding"),
    /**
     * `<transaction>#<index>` of the output from which the token's name follows. Another try spends
     * it again while it is there, so that two tries can never both land.
     */
    seed: text("seed"),
    /** The last transaction of what is being done, or was done last. */
    tx: text("tx", { mode: "json" }).$type<RegistrationTransaction>(),
    /** Its signed bytes, hex: a rollback may take it back while the network still takes them. */
    txCbor: text("tx_cbor"),
    /** Tries of what is being done that came to nothing. */
    failures: integer("failures").notNull(),
    /** Epoch milliseconds from which on the wallet's object goes on; null: nothing to do. */
    dueAt: integer("due_at"),
    createdById: text("created_by_id").notNull(),
    createdAt: integer("created_at").notNull(),
    updatedAt: integer("updated_at").notNull(),
    /** When the chain last told what became of a transaction; null before the first time. */
    lastCheckedAt: integer("last_checked_at"),
    rev: integer("rev").notNull(),
    lastOp: text("last_op"),
  },
  (table) => [
    index("registration_newest").on(table.kind, table.network, table.id),
    index("registration_identifier").on(table.agentIdentifier, table.network, table.kind, table.id),
    index("registration_open")
      .on(table.network, table.walletVkey, table.dueAt)
      .where(sql`due_at IS NOT NULL`),
  ],
);

export type RegistrationRow = typeof registration.$inferSelect;
