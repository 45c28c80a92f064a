import { sql } from "drizzle-orm";
import {
  index,
  integer,
  primaryKey,
  sqliteTable,
  text,
  uniqueIndex,
} from "drizzle-orm/sqlite-core";

/** A minting policy whose tokens are agents, with the provider key it is followed by. Core. */
export const registrySource = sqliteTable(
  "registry_source",
  {
    id: text("id").primaryKey(),
    network: text("network", { enum: ["Preprod", "Mainnet"] }).notNull(),
    /** Hex. */
    policyId: text("policy_id").notNull(),
    url: text("url"),
    note: text("note"),
    /** Sealed for (`registry_source`, id, `rpc_provider_api_key`); empty once deleted. */
    rpcProviderApiKey: text("rpc_provider_api_key").notNull(),
    /** `FurtherProvider[]` as JSON, sealed for (`registry_source`, id, `rpc_providers`); null: none. */
    rpcProviders: text("rpc_providers"),
    createdById: text("created_by_id").notNull(),
    createdAt: integer("created_at").notNull(),
    updatedAt: integer("updated_at").notNull(),
    deletedAt: integer("deleted_at"),
  },
  (table) => [
    uniqueIndex("registry_source_policy")
      .on(table.network, table.policyId)
      .where(sql`deleted_at IS NULL`),
  ],
);

/**
 * How far a registry source has been read. Ledger: it moves in the batch that writes what was read.
 * `version` and `lastOp` guard that batch as in `source_cursor`.
 */
export const registryCursor = sqliteTable("registry_cursor", {
  sourceId: text("source_id").primaryKey(),
  network: text("network", { enum: ["Preprod", "Mainnet"] }).notNull(),
  version: integer("version").notNull(),
  lastOp: text("last_op"),
  /**
   * JSON array of `MintPosition`, ascending: the mints and burns done in the last blocks, and the
   * one before them. The last is where the source stands; empty before the first.
   */
  recent: text("recent").notNull(),
  /**
   * Hash of the tip seen by the last complete pass: unchanged means there is nothing to read. Null if
   * the cursor was moved since.
   */
  tipHash: text("tip_hash"),
  /**
   * Epoch milliseconds of the last complete pass; null before the first. Of a removed source: when all
   * it had was `Deregistered`; null before that.
   */
  lastCheckedAt: integer("last_checked_at"),
  /** Why the last pass did not complete, for operators; null when it did. */
  error: text("error"),
  /** Epoch milliseconds at which the source was removed: from then on nothing is read. */
  removedAt: integer("removed_at"),
});

/**
 * Registered agents: one per token of a source's policy. `state` and the columns are the truth;
 * `doc` is `renderEntry` of them. Ledger.
 */
export const registryEntry = sqliteTable(
  "registry_entry",
  {
    id: text("id").primaryKey(),
    network: text("network", { enum: ["Preprod", "Mainnet"] }).notNull(),
    sourceId: text("source_id").notNull(),
    policyId: text("policy_id").notNull(),
    /** Of its source. */
    sourceUrl: text("source_url"),
    /** Policy id and asset name, hex. */
    agentIdentifier: text("agent_identifier").notNull(),
    /** `EntryState` as JSON: what transactions change. */
    state: text("state").notNull(),
    /** The result of the last health checks; counts only while the token exists and can be read. */
    health: text("health", { enum: ["Online", "Offline", "Invalid"] }).notNull(),
    /** What is shown: follows from `state` and `health`. */
    status: text("status", { enum: ["Online", "Offline", "Deregistered", "Invalid"] }).notNull(),
    /** Copied from `state` for filters and health checks. */
    apiBaseUrl: text("api_base_url").notNull(),
    paymentType: text("payment_type").notNull(),
    /** JSON array of texts. */
    tags: text("tags").notNull(),
    /** Id of the capability's name and version; null when there is none. */
    capabilityId: text("capability_id"),
    createdAt: integer("created_at").notNull(),
    updatedAt: integer("updated_at").notNull(),
    /** Change stamp, from the `registry` clock of the network; see `db/clock.ts`. */
    statusUpdatedAt: integer("status_updated_at").notNull(),
    /** Guards every write: a writer that read an older row aborts. */
    revision: integer("revision").notNull(),
    /** Version of `renderEntry` that made `doc`; an older one is rendered again by the cron, until then when read. */
    docVersion: integer("doc_version").notNull(),
    doc: text("doc").notNull(),
  },
  (table) => [
    index("registry_entry_changed").on(table.network, table.statusUpdatedAt, table.id),
    index("registry_entry_newest").on(table.network, table.status, table.id),
    uniqueIndex("registry_entry_token").on(table.agentIdentifier, table.sourceId),
    index("registry_entry_source").on(table.sourceId, table.id),
    index("registry_entry_capability")
      .on(table.network, table.capabilityId, table.id)
      .where(sql`status = 'Online' AND capability_id IS NOT NULL`),
  ],
);

/**
 * When an agent is checked, and how often it answered. Every check writes this table, so it is narrow
 * and has no index. A read of the whole table finds the agents that are due, and costs a thousandth of
 * an index entry for each write. Ledger.
 */
export const registryHealth = sqliteTable(
  "registry_health",
  {
    sourceId: text("source_id").notNull(),
    entryId: text("entry_id").notNull(),
    /** Epoch milliseconds; null: is not checked (burned, or its metadata cannot be read). */
    dueAt: integer("due_at"),
    checks: integer("checks").notNull(),
    successes: integer("successes").notNull(),
    /** Failed checks since the last success. */
    failures: integer("failures").notNull(),
    /** Epoch milliseconds; null before the first. */
    lastCheckAt: integer("last_check_at"),
    /** Why the last check failed; null when it succeeded, and before the first. */
    lastCheckError: text("last_check_error"),
  },
  (table) => [primaryKey({ columns: [table.sourceId, table.entryId] })],
);

/** What one transaction did to one entry. `before` is the state before it, which undoing restores. Ledger. */
export const registryStep = sqliteTable(
  "registry_step",
  {
    sourceId: text("source_id").notNull(),
    blockHeight: integer("block_height").notNull(),
    txIndex: integer("tx_index").notNull(),
    txHash: text("tx_hash").notNull(),
    entryId: text("entry_id").notNull(),
    /** `EntryState` as JSON. */
    before: text("before").notNull(),
  },
  (table) => [
    primaryKey({
      columns: [table.sourceId, table.blockHeight, table.txIndex, table.txHash, table.entryId],
    }),
  ],
);
