import { sql } from "drizzle-orm";
import {
  index,
  integer,
  primaryKey,
  sqliteTable,
  text,
  uniqueIndex,
} from "drizzle-orm/sqlite-core";

/** A payment source: an escrow contract we follow, with the settings an operator gave it. Core. */
export const paymentSource = sqliteTable(
  "payment_source",
  {
    id: text("id").primaryKey(),
    network: text("network", { enum: ["Preprod", "Mainnet"] }).notNull(),
    type: text("type", { enum: ["Web3ChainV1", "Web3ChainV2"] }).notNull(),
    contractAddress: text("contract_address").notNull(),
    policyId: text("policy_id").notNull(),
    /** JSON array of `{walletAddress, order}`. */
    adminWallets: text("admin_wallets").notNull(),
    feeRatePermille: integer("fee_rate_permille").notNull(),
    feeReceiverAddress: text("fee_receiver_address"),
    requiredAdminSignatures: integer("required_admin_signatures"),
    /** Milliseconds. */
    cooldownTime: integer("cooldown_time").notNull(),
    rpcProvider: text("rpc_provider", { enum: ["Blockfrost"] }).notNull(),
    /** Sealed for (`payment_source`, id, `rpc_provider_api_key`); empty once deleted. */
    rpcProviderApiKey: text("rpc_provider_api_key").notNull(),
    createdById: text("created_by_id").notNull(),
    createdAt: integer("created_at").notNull(),
    updatedAt: integer("updated_at").notNull(),
    deletedAt: integer("deleted_at"),
  },
  (table) => [
    uniqueIndex("payment_source_contract")
      .on(table.network, table.contractAddress)
      .where(sql`deleted_at IS NULL`),
  ],
);

/** A wallet whose mnemonic we hold, in the role it plays for one source. Core. */
export const managedWallet = sqliteTable(
  "managed_wallet",
  {
    id: text("id").primaryKey(),
    sourceId: text("source_id").notNull(),
    network: text("network", { enum: ["Preprod", "Mainnet"] }).notNull(),
    role: text("role", { enum: ["Purchasing", "Selling"] }).notNull(),
    /** Payment key hash, hex. */
    vkey: text("vkey").notNull(),
    address: text("address").notNull(),
    /** Sealed for (`managed_wallet`, id, `mnemonic`); empty once removed. */
    mnemonic: text("mnemonic").notNull(),
    note: text("note").notNull(),
    collectionAddress: text("collection_address"),
    createdById: text("created_by_id").notNull(),
    createdAt: integer("created_at").notNull(),
    deletedAt: integer("deleted_at"),
  },
  (table) => [
    uniqueIndex("managed_wallet_vkey").on(table.network, table.vkey).where(sql`deleted_at IS NULL`),
    index("managed_wallet_source").on(table.sourceId),
  ],
);

/**
 * Tells when a wallet holds less of a unit than an operator wants it to. Core.
 *
 * `version` guards the batch of a check: one that read an older row aborts, so each way down makes
 * one event.
 */
export const lowBalanceRule = sqliteTable(
  "low_balance_rule",
  {
    id: text("id").primaryKey(),
    walletId: text("wallet_id").notNull(),
    /** `""` for the native coin, else policy id and asset name in hex. */
    unit: text("unit").notNull(),
    /** Minor units, decimal text: less than this is low. */
    threshold: text("threshold").notNull(),
    enabled: integer("enabled", { mode: "boolean" }).notNull(),
    /** `Unknown` until the first check after it was created or changed. */
    status: text("status", { enum: ["Unknown", "Healthy", "Low"] }).notNull(),
    /** Minor units, decimal text, at the last check; null before it. */
    balance: text("balance"),
    checkedAt: integer("checked_at"),
    /** Events written so far. */
    sequence: integer("sequence").notNull(),
    version: integer("version").notNull(),
    createdById: text("created_by_id").notNull(),
    createdAt: integer("created_at").notNull(),
    updatedAt: integer("updated_at").notNull(),
  },
  (table) => [uniqueIndex("low_balance_rule_unit").on(table.walletId, table.unit)],
);

/**
 * How far a source has been read. Ledger: it moves in the batch that writes what was read.
 *
 * `version` guards every batch that moves the cursor: a repeated, stale or late batch violates NOT
 * NULL and aborts, and `lastOp` tells which. The other columns below it say how the last tick went
 * and never touch `version`.
 */
export const sourceCursor = sqliteTable("source_cursor", {
  sourceId: text("source_id").primaryKey(),
  network: text("network", { enum: ["Preprod", "Mainnet"] }).notNull(),
  version: integer("version").notNull(),
  lastOp: text("last_op"),
  /** `Position` as JSON: the last transaction done, never the tip; null before the first. */
  position: text("position"),
  /**
   * JSON array of `Position`, ascending, ending at `position`: every transaction done in the last
   * blocks, and the one before them. Each listing overlaps them and is compared with them.
   */
  recent: text("recent").notNull(),
  /** `Position` after which this source was told to begin; null means with the first transaction. */
  start: text("start"),
  /** 1 when every transaction of the contract up to `position` was read, 0 when some were skipped. */
  complete: integer("complete").notNull(),
  /** Locks that named our wallets but failed a check that a stranger can fail for free. */
  ignoredLocks: integer("ignored_locks").notNull(),
  /** `Backfill` as JSON: the past of wallets added later, still being read; null when none is. */
  backfill: text("backfill"),
  /**
   * Hash of the tip seen by the last complete tick: unchanged means there is nothing to read. Null
   * once the cursor moved since.
   */
  tipHash: text("tip_hash"),
  /** Epoch milliseconds of the last complete tick; null before the first. */
  lastCheckedAt: integer("last_checked_at"),
  /** Epoch milliseconds until which a running pass holds the source; null when none runs. */
  leaseUntil: integer("lease_until"),
  /** Why the last tick did not complete, for operators; null when it did. */
  error: text("error"),
});

/** Blocks that committed pages ended in: what tells a rollback from a provider that lags. Ledger. */
export const checkpoint = sqliteTable(
  "checkpoint",
  {
    sourceId: text("source_id").notNull(),
    height: integer("height").notNull(),
    blockHash: text("block_hash").notNull(),
    txIndex: integer("tx_index").notNull(),
    txHash: text("tx_hash").notNull(),
  },
  (table) => [primaryKey({ columns: [table.sourceId, table.height] })],
);

/** The newest block height seen per network, from which `confirmations` is computed. Ledger. */
export const chainTip = sqliteTable("chain_tip", {
  network: text("network").primaryKey(),
  height: integer("height").notNull(),
});
