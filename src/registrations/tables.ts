import { sql } from "drizzle-orm";
import { index, integer, sqliteTable, text } from "drizzle-orm/sqlite-core";
import { NETWORKS, PAYMENT_SOURCE_TYPES } from "../chain/network.ts";
import type { WalletTask } from "../wallets/queue/tables.ts";
import type {
  RegistrationProfile,
  RegistrationTransaction,
  RegistrationWallet,
} from "./registration-profile.ts";
import { REGISTRATION_KINDS, REGISTRATION_STATES } from "./states.ts";

/**
 * Agents and inbox agents registered through the API, and the progress of their registration, update
 * or deregistration on the chain. Ledger.
 *
 * While its task is open, only the signing wallet's object writes the row. `revision` guards every write.
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
    /** The content of the metadata of the token, or of that which an update mints. */
    profile: text("profile", { mode: "json" }).$type<RegistrationProfile>().notNull(),
    /** Copied from `profile` for searches. */
    name: text("name").notNull(),
    state: text("state", { enum: REGISTRATION_STATES }).notNull(),
    /** Change stamp of `state`, from the `registration` clock of the network; see `db/clock.ts`. */
    stateChangedAt: integer("state_changed_at").notNull(),
    /** Why it failed; null otherwise. What it waits for is on its task. */
    error: text("error"),
    /**
     * Policy id and asset name, hex; null until the minting transaction is signed. That of an update
     * replaces it once the update is confirmed.
     */
    agentIdentifier: text("agent_identifier"),
    /** The wallet that signs: it pays for the mint, or holds the token to be burned. */
    wallet: text("wallet", { mode: "json" }).$type<RegistrationWallet>().notNull(),
    /** Copied from `wallet`. */
    walletVkey: text("wallet_vkey").notNull(),
    /** The recipient of the token; null: the wallet that mints it. */
    recipient: text("recipient", { mode: "json" }).$type<RegistrationWallet>(),
    /** Native minor units sent with the token, decimal text; null: the minimum. */
    sendFunding: text("send_funding"),
    /** What was charged to its key's spending limits, native minor units; null: nothing. */
    fundingCharged: text("funding_charged"),
    /**
     * `<transaction>#<index>` of the output from which the token's name is derived: the output of
     * the wallet's outward chain that the transaction spends.
     */
    seed: text("seed"),
    /** The last transaction of the current or last operation. */
    tx: text("tx", { mode: "json" }).$type<RegistrationTransaction>(),
    createdById: text("created_by_id").notNull(),
    createdAt: integer("created_at").notNull(),
    updatedAt: integer("updated_at").notNull(),
    /** When the chain last decided a transaction; null before the first. */
    lastCheckedAt: integer("last_checked_at"),
    revision: integer("revision").notNull(),
  },
  (table) => [
    index("registration_newest").on(table.kind, table.network, table.id),
    index("registration_changed").on(table.kind, table.network, table.stateChangedAt, table.id),
    index("registration_identifier").on(table.agentIdentifier, table.network, table.kind, table.id),
    // What the metrics count.
    index("registration_failed").on(table.network, table.kind).where(sql`state GLOB '*Failed'`),
  ],
);

export type RegistrationRow = typeof registration.$inferSelect & { task: WalletTask | null };

/** Columns that change during a registration's life. */
export type RegistrationChange = Partial<
  Pick<
    RegistrationRow,
    | "state"
    | "error"
    | "agentIdentifier"
    | "profile"
    | "name"
    | "wallet"
    | "walletVkey"
    | "recipient"
    | "sendFunding"
    | "fundingCharged"
    | "seed"
    | "tx"
    | "lastCheckedAt"
  >
>;
