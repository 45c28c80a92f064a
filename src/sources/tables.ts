import { sql } from "drizzle-orm";
import { integer, primaryKey, sqliteTable, text, uniqueIndex } from "drizzle-orm/sqlite-core";
import { AUTOMATION_MODES } from "./automation-mode.ts";

/** A payment source: an escrow contract we follow, with its operator's settings. Core. */
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
    /** `FurtherProvider[]` as JSON, sealed for (`payment_source`, id, `rpc_providers`); null: none. */
    rpcProviders: text("rpc_providers"),
    /** The default is that of sources from before there was a choice. */
    drives: text("drives", { enum: AUTOMATION_MODES }).notNull().default("nothing"),
    /** Whether withdrawals run without a request; null: as `AUTO_WITHDRAW_PAYMENTS` says. */
    autoWithdrawPayments: integer("auto_withdraw_payments", { mode: "boolean" }),
    /** Whether refunds do; null: as `AUTO_WITHDRAW_REFUNDS` says. */
    autoWithdrawRefunds: integer("auto_withdraw_refunds", { mode: "boolean" }),
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

/**
 * How far a source has been read. Ledger: it moves in the batch that writes what was read.
 *
 * `version` guards every batch that moves the cursor: a repeated, stale or late batch violates NOT
 * NULL and aborts, and `lastOp` tells which. The columns about the last tick never touch `version`.
 */
export const sourceCursor = sqliteTable("source_cursor", {
  sourceId: text("source_id").primaryKey(),
  network: text("network", { enum: ["Preprod", "Mainnet"] }).notNull(),
  version: integer("version").notNull(),
  lastOp: text("last_op"),
  /** `Position` as JSON: the last processed transaction, never the tip; null before the first. */
  position: text("position"),
  /**
   * JSON array of `Position`, ascending, ending at `position`: every transaction processed in the
   * last blocks, and the one before them. Each listing overlaps them and is compared with them.
   */
  recent: text("recent").notNull(),
  /** `Position` after which this source was set to begin; null: with the first transaction. */
  start: text("start"),
  /** 1 when every transaction of the contract up to `position` was read, 0 when some were skipped. */
  complete: integer("complete").notNull(),
  /** Locks that named our wallets but failed a check that anyone can fail for free. */
  ignoredLocks: integer("ignored_locks").notNull(),
  /** `Backfill` as JSON: the history of later wallets still being read; null when none is. */
  backfill: text("backfill"),
  /**
   * Hash of the tip at the last complete tick: unchanged means there is nothing to read. Null if
   * the cursor was moved since.
   */
  tipHash: text("tip_hash"),
  /** Epoch milliseconds of the last complete tick; null before the first. */
  lastCheckedAt: integer("last_checked_at"),
  /** Epoch milliseconds until which a running pass holds the source; null when none runs. */
  leaseUntil: integer("lease_until"),
  /** Why the last tick did not complete, for operators; null when it did. */
  error: text("error"),
});

/** Blocks in which committed pages ended: they tell a rollback from a lagging provider. Ledger. */
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

/** The highest tip seen per network, from which `confirmations` is computed; see `chain-tip.ts`. Ledger. */
export const chainTip = sqliteTable("chain_tip", {
  network: text("network").primaryKey(),
  height: integer("height").notNull(),
});
