import { sql } from "drizzle-orm";
import { index, integer, sqliteTable, text, uniqueIndex } from "drizzle-orm/sqlite-core";
import { NETWORKS } from "../chain/network.ts";

export const INBOX_STATUSES = ["Pending", "Verified", "Invalid", "Deregistered"] as const;

/**
 * Inbox agents whose tokens are on the chain under a registry source's policy, and what their
 * providers publish. Ledger: mints and burns are written in the batch of the registry's cursor.
 */
export const inboxRegistration = sqliteTable(
  "inbox_registration",
  {
    id: text("id").primaryKey(),
    network: text("network", { enum: NETWORKS }).notNull(),
    sourceId: text("source_id").notNull(),
    policyId: text("policy_id").notNull(),
    /** Of its source. */
    sourceUrl: text("source_url"),
    /** Policy id and asset name, hex. */
    agentIdentifier: text("agent_identifier").notNull(),
    name: text("name").notNull(),
    description: text("description"),
    /** Normalised by `slug.ts`. */
    agentSlug: text("agent_slug").notNull(),
    /** From the token's metadata, without a trailing slash; null: the network's default. */
    providerUrl: text("provider_url"),
    metadataVersion: integer("metadata_version").notNull(),
    status: text("status", { enum: INBOX_STATUSES }).notNull(),
    /** The five below are from the provider; null until it names this agent, and after the end. */
    linkedEmail: text("linked_email"),
    encryptionPublicKey: text("encryption_public_key"),
    encryptionKeyVersion: text("encryption_key_version"),
    signingPublicKey: text("signing_public_key"),
    signingKeyVersion: text("signing_key_version"),
    /** Block heights; null: the chain has no such transaction, or it was rolled back. */
    mintedHeight: integer("minted_height"),
    burnedHeight: integer("burned_height"),
    /** Epoch milliseconds at which the provider is asked next; null: it is not. */
    dueAt: integer("due_at"),
    createdAt: integer("created_at").notNull(),
    updatedAt: integer("updated_at").notNull(),
    /** Change stamp, from the `inbox` clock of the network; see `db/clock.ts`. */
    statusUpdatedAt: integer("status_updated_at").notNull(),
    /** Guards the writes of verification: one that read an older row aborts. */
    revision: integer("revision").notNull(),
  },
  (table) => [
    uniqueIndex("inbox_registration_token").on(table.agentIdentifier, table.sourceId),
    index("inbox_registration_changed").on(table.network, table.statusUpdatedAt, table.id),
    index("inbox_registration_newest").on(table.network, table.id),
    index("inbox_registration_slug").on(table.agentSlug, table.network, table.id),
    index("inbox_registration_due").on(table.network, table.dueAt).where(sql`due_at IS NOT NULL`),
    index("inbox_registration_minted").on(table.sourceId, table.mintedHeight),
    index("inbox_registration_burned")
      .on(table.sourceId, table.burnedHeight)
      .where(sql`burned_height IS NOT NULL`),
  ],
);
