import { sql } from "drizzle-orm";
import {
  type AnySQLiteColumn,
  index,
  integer,
  primaryKey,
  sqliteTable,
  text,
  uniqueIndex,
} from "drizzle-orm/sqlite-core";
import { ON_CHAIN_STATES } from "../../chain/network.ts";
import { bytes, packedHex } from "../../db/hex-column.ts";
import { MISMATCH_STATUS, TRANSACTION_STATUSES } from "../model/transaction-record.ts";
import {
  BILLABLE_AT_SQL,
  BILLABLE_CONDITION,
  BUYER_VKEY_SQL,
  ENDED_CONDITION,
  FINAL_CONDITION,
  HAS_INTENT_CONDITION,
  LARGE_OUTPUT_CONDITION,
  NEEDS_PERSON_CONDITION,
  UNFINISHED_CONDITION,
} from "./predicates.ts";

/**
 * The columns of an escrow, in groups by who writes them. `escrow-row.ts` maps rows to records. An archive has
 * the same. A row stays below half a page of the database, which keeps two of them for ever.
 */
export const ESCROW_TABLE_COLUMNS = {
  id: text("id").primaryKey(),
  side: text("side", { enum: ["payment", "purchase"] }).notNull(),
  network: text("network", { enum: ["Preprod", "Mainnet"] }).notNull(),
  sourceId: text("source_id").notNull(),
  sourceType: text("source_type", { enum: ["Web3ChainV1", "Web3ChainV2"] }).notNull(),
  contractAddress: text("contract_address").notNull(),
  policyId: packedHex("policy_id").notNull(),
  blockchainIdentifier: packedHex("blockchain_identifier").notNull(),
  /** SHA-256 of the identifier, hex; `escrow_identity` finds the row by it. */
  identifierHash: text("identifier_hash").notNull(),
  requestedById: text("requested_by_id").notNull(),
  // `EscrowTerms`: written when the record is made, by nobody after.
  /** 1: a request made the record; null: a lock did. */
  isRequested: integer("is_requested"),
  agentIdentifier: packedHex("agent_identifier").notNull(),
  agentName: text("agent_name"),
  pricingType: text("pricing_type", { enum: ["Fixed", "Free", "Dynamic"] }).notNull(),
  inputHash: packedHex("input_hash").notNull(),
  payByTime: text("pay_by_time").notNull(),
  submitResultTime: text("submit_result_time").notNull(),
  unlockTime: text("unlock_time").notNull(),
  externalDisputeUnlockTime: text("external_dispute_unlock_time").notNull(),
  collateralReturn: text("collateral_return"),
  buyer: text("buyer"),
  buyerVkey: text("buyer_vkey"),
  seller: text("seller").notNull(),
  sellerVkey: text("seller_vkey").notNull(),
  buyerReturnAddress: text("buyer_return_address"),
  sellerReturnAddress: text("seller_return_address"),
  /** `StoredFunds[]` as JSON. */
  funds: text("funds").notNull(),
  /** JSON array; null: any. */
  walletIds: text("wallet_ids"),

  // `ChainState`: written by the fold, and restored by undo.
  onChainState: text("on_chain_state", { enum: ON_CHAIN_STATES }),
  /** The output that holds the funds (`hash#index`), null when none does. */
  utxo: text("utxo"),
  resultHash: packedHex("result_hash").notNull(),
  buyerCooldown: text("buyer_cooldown").notNull(),
  sellerCooldown: text("seller_cooldown").notNull(),
  buyerFees: text("buyer_fees").notNull(),
  sellerFees: text("seller_fees").notNull(),
  /** `StoredFunds[]` as JSON. */
  withdrawnForSeller: text("withdrawn_for_seller").notNull(),
  withdrawnForBuyer: text("withdrawn_for_buyer").notNull(),
  /** `SettledFunds` as JSON; null until the escrow has ended. */
  settled: text("settled"),
  /** The fields of `EscrowLock` that differ from the terms, as JSON; null while nothing is locked. */
  lock: text("lock"),
  /** The newest that was applied: the row of `escrow_transaction`, and its block time in Unix seconds. */
  transactionHash: text("transaction_hash"),
  blockTime: integer("block_time"),
  /** 1: something else than was requested was locked; null: no. */
  hadMismatch: integer("had_mismatch"),
  createdAt: integer("created_at").notNull(),
  updatedAt: integer("updated_at").notNull(),
  lastCheckedAt: integer("last_checked_at"),
  /** The three change stamps, from the `escrow` clock of the network; see `db/clock.ts`. */
  chainChangedAt: integer("chain_changed_at").notNull(),
  actionChangedAt: integer("action_changed_at").notNull(),
  changedAt: integer("changed_at").notNull(),
  /** Events written so far. */
  sequence: integer("sequence").notNull(),
  /** Guards every write: a writer that read an older row aborts. */
  revision: integer("revision").notNull(),
  /** Characters of `output` in `escrow_open`; null: there is none. */
  outputLength: integer("output_length"),

  // Copied from `nextActionOf` the record for filters, in each statement that changes what it follows from.
  requestedAction: text("requested_action").notNull(),
  errorType: text("error_type"),

  // Progress: written by requests, automatic rules and the wallet; by the fold by its table alone.
  /** `Intent` as JSON. */
  intent: text("intent"),
  /** Hash of the pending transaction of `escrow_open`; null: there is none. */
  pendingHash: text("pending_hash"),
  /** `RecordError` as JSON. */
  error: text("error"),
  /** When it was found that nothing can be locked any more, epoch milliseconds. */
  expiredAt: integer("expired_at"),
  /** What became of the charge for a purchase; null: it was not charged. */
  charge: text("charge", { enum: ["held", "returned"] }),
  /** The wallet that acts for the record; null: none was chosen yet. */
  walletId: text("wallet_id"),
  walletVkey: text("wallet_vkey"),
  /** Null: the same as its party's in the terms or the lock. */
  walletAddress: text("wallet_address"),
  /** 1: that wallet, or the payment source, was removed; written by who removes it or adds it again. */
  walletRemoved: integer("wallet_removed"),
  /** Epoch milliseconds from which that wallet has something to do; null: nothing. */
  dueAt: integer("due_at"),
  /** The next deadline of the service without a warning event, epoch milliseconds. */
  deadline: integer("deadline"),
  /** The one that was told of last. */
  lastDeadlineWarning: integer("last_deadline_warning"),
};

/**
 * Payments (we hold the seller's wallet) and purchases (we hold the buyer's). One lock makes one
 * row of each side when both wallets are ours. Ledger.
 */
export const escrow = sqliteTable("escrow", ESCROW_TABLE_COLUMNS, (table) => {
  const { id, side, network, sourceId, sourceType, contractAddress, agentIdentifier } = table;
  const { walletId, walletVkey, onChainState, blockTime } = table;
  const createPageIndexes = (name: string, stamp: AnySQLiteColumn) => [
    index(`escrow_${name}`).on(side, network, sourceType, stamp, id),
    index(`escrow_contract_${name}`).on(side, network, contractAddress, sourceType, stamp, id),
    // For keys that are bound to wallets.
    index(`escrow_wallet_${name}`).on(walletId, side, network, sourceType, stamp, id),
  ];
  return [
    ...createPageIndexes("chain_changed", table.chainChangedAt),
    ...createPageIndexes("action_changed", table.actionChangedAt),
    ...createPageIndexes("changed", table.changedAt),
    // For the lists, newest first: all records of a side, of a contract, in a state, or of a wallet.
    index("escrow_newest").on(side, network, sourceType, id),
    index("escrow_contract_newest").on(side, network, contractAddress, sourceType, id),
    index("escrow_state_newest").on(side, network, onChainState, sourceType, id),
    index("escrow_wallet_newest").on(walletId, side, network, sourceType, id),
    index("escrow_agent_newest").on(side, network, agentIdentifier, sourceType, id),
    index("escrow_needs_person")
      .on(side, network, sourceType, id)
      .where(sql.raw(NEEDS_PERSON_CONDITION)),
    index("escrow_utxo").on(sourceId, table.utxo).where(sql`utxo IS NOT NULL`),
    // Records with a pending transaction.
    index("escrow_initiated").on(sourceId).where(sql`requested_action GLOB '*Initiated'`),
    index("escrow_due").on(network, walletVkey, table.dueAt).where(sql`due_at IS NOT NULL`),
    // What is waiting or under way, newest first.
    index("escrow_intent").on(network, id).where(sql.raw(HAS_INTENT_CONDITION)),
    // Deadlines that come near.
    index("escrow_deadline").on(sourceId, table.deadline).where(sql`deadline IS NOT NULL`),
    // What was asked for and is not locked: it expires.
    index("escrow_unlocked")
      .on(sourceId, sql`CAST(pay_by_time AS INTEGER)`)
      .where(sql`on_chain_state IS NULL AND expired_at IS NULL`),
    // Purchases that ended without a lock: their charge is given back.
    index("escrow_held").on(network, id).where(sql`charge = 'held' AND expired_at IS NOT NULL`),
    // Few: those whose next step may be too large with the contract's script in it.
    index("escrow_bulky").on(network, sourceId).where(sql.raw(LARGE_OUTPUT_CONDITION)),
    // What may go to an archive, the oldest first.
    index("escrow_final").on(network, table.changedAt).where(sql.raw(FINAL_CONDITION)),
    // What the removal of a wallet or a source asks for.
    index("escrow_unfinished").on(sourceId).where(sql.raw(UNFINISHED_CONDITION)),
    // What a wallet that is added again goes on with.
    index("escrow_wallet_removed").on(sourceId).where(sql`wallet_removed IS NOT NULL`),
    // For the books: escrows by the block time of what ended them, of all agents or of one.
    index("escrow_ended").on(side, network, blockTime).where(sql.raw(ENDED_CONDITION)),
    index("escrow_agent_ended")
      .on(side, network, agentIdentifier, blockTime)
      .where(sql.raw(ENDED_CONDITION)),
    // For the monthly invoice: a buyer's payments that became billable in a month.
    index("escrow_billed")
      .on(network, sql.raw(BUYER_VKEY_SQL), sql.raw(BILLABLE_AT_SQL))
      .where(sql.raw(BILLABLE_CONDITION)),
  ];
});

/**
 * Where the record of an identifier is. Each record has its row from the batch that makes it, for ever. The
 * table also prevents a second record of one identifier. `WITHOUT ROWID`, which drizzle cannot say. Ledger.
 */
export const escrowIdentity = sqliteTable(
  "escrow_identity",
  {
    /** SHA-256 of the identifier. */
    identifierHash: bytes("identifier_hash").notNull(),
    side: text("side", { enum: ["payment", "purchase"] }).notNull(),
    sourceId: text("source_id").notNull(),
    /** The record. */
    id: text("id").notNull(),
    /** The number of the archive that has the record; null: this database has it. */
    archive: integer("archive"),
  },
  (table) => [primaryKey({ columns: [table.identifierHash, table.side, table.sourceId] })],
);

/**
 * What an escrow that has not ended has beside its row: large, and deleted at its end. Read with the row, and
 * written in the same batch. Ledger.
 */
export const escrowOpen = sqliteTable("escrow_open", {
  /** Of its row of `escrow`, like `network` and `revision`. */
  id: text("id").primaryKey(),
  network: text("network", { enum: ["Preprod", "Mainnet"] }).notNull(),
  revision: integer("revision").notNull(),
  /** Version of `render-record.ts` that made `doc`; an older one is rendered again by the cron, until then when read. */
  docVersion: integer("doc_version").notNull(),
  /** What `render-record.ts` made of the row; no code reads it to decide anything. */
  doc: text("doc").notNull(),
  /** `LiveOutput` as JSON; null when none holds the funds, and after an undo. */
  output: text("output"),
  /** `PendingTransaction` as JSON. */
  pendingTransaction: text("pending_transaction"),
});

/** A transaction of a record. The service's own exist once stored, those of others once the chain has them. Ledger. */
export const escrowTransaction = sqliteTable(
  "escrow_transaction",
  {
    recordId: text("record_id").notNull(),
    txHash: text("tx_hash").notNull(),
    /** Never changes. */
    id: text("id").notNull(),
    status: text("status", { enum: [...TRANSACTION_STATUSES, MISMATCH_STATUS] }).notNull(),
    createdAt: integer("created_at").notNull(),
    updatedAt: integer("updated_at").notNull(),
    /** Minor units, decimal text. */
    fees: text("fees"),
    blockHeight: integer("block_height"),
    /** Unix seconds. */
    blockTime: integer("block_time"),
    previousOnChainState: text("previous_on_chain_state"),
    newOnChainState: text("new_on_chain_state"),
    /** `Intent` as JSON: what it was made for; null: it is not ours. */
    intent: text("intent"),
  },
  (table) => [primaryKey({ columns: [table.recordId, table.txHash] })],
);

/**
 * How to undo what a transaction did to a record. It exists while the transaction is in a block that was
 * applied and that a rollback can reach. Ledger.
 */
export const escrowUndo = sqliteTable(
  "escrow_undo",
  {
    sourceId: text("source_id").notNull(),
    blockHeight: integer("block_height").notNull(),
    txIndex: integer("tx_index").notNull(),
    recordId: text("record_id").notNull(),
    txHash: text("tx_hash").notNull(),
    /** Unix seconds. */
    blockTime: integer("block_time"),
    /** `UndoData` as JSON. */
    data: text("data").notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.sourceId, table.blockHeight, table.txIndex, table.recordId] }),
  ],
);

/** Actions that a purchase had before its current one. Ledger. */
export const escrowAction = sqliteTable(
  "escrow_action",
  {
    recordId: text("record_id").notNull(),
    id: text("id").notNull(),
    /** The transaction that ended the action; undone with it. Null when the API ended it. */
    txHash: text("tx_hash"),
    createdAt: integer("created_at").notNull(),
    updatedAt: integer("updated_at").notNull(),
    requestedAction: text("requested_action").notNull(),
    errorType: text("error_type"),
    errorNote: text("error_note"),
  },
  (table) => [primaryKey({ columns: [table.recordId, table.id] })],
);

/** The columns of what a request left. An archive has the same. */
export const ESCROW_REQUEST_COLUMNS = {
  recordId: text("record_id").primaryKey(),
  /** The record's. */
  requestedById: text("requested_by_id").notNull(),
  /** What the caller noted, up to 16 KiB. Shown to the record's owner and to Admins alone. */
  metadata: text("metadata"),
  /** Change stamp of the batch that made the record, as the request is answered. */
  madeAt: integer("made_at").notNull(),
  /** Of a purchase: network and hash of the identifier, which a network has one purchase of. */
  purchaseOf: text("purchase_of"),
  /** Of a purchase: the credits that its key was charged; null: none. */
  credits: integer("credits"),
  /** Of a purchase: whether its price was charged to its key's spending limits. */
  isSpent: integer("is_spent", { mode: "boolean" }),
};

/** What the request that made a record left beside its terms. Ledger. */
export const escrowRequest = sqliteTable("escrow_request", ESCROW_REQUEST_COLUMNS, (table) => [
  uniqueIndex("escrow_request_purchase").on(table.purchaseOf),
  // What the erasure of a key removes.
  index("escrow_request_metadata")
    .on(table.requestedById, table.recordId)
    .where(sql`metadata IS NOT NULL`),
]);

/** How many escrows the archives have, so that nobody counts them there. Written with `archive_range`. Ledger. */
export const archivedEscrowCount = sqliteTable(
  "archived_escrow_count",
  {
    network: text("network", { enum: ["Preprod", "Mainnet"] }).notNull(),
    side: text("side", { enum: ["payment", "purchase"] }).notNull(),
    /** Days since 1970, of the time in the record's id. */
    day: integer("day").notNull(),
    sourceType: text("source_type", { enum: ["Web3ChainV1", "Web3ChainV2"] }).notNull(),
    contractAddress: text("contract_address").notNull(),
    /** JSON array: the acting wallet, or else those that might act. */
    walletIds: text("wallet_ids").notNull(),
    /** Empty: nothing was locked. */
    onChainState: text("on_chain_state", { enum: ["", ...ON_CHAIN_STATES] }).notNull(),
    count: integer("count").notNull(),
  },
  ({ network, side, day, sourceType, contractAddress, walletIds, onChainState }) => [
    primaryKey({
      columns: [network, side, day, sourceType, contractAddress, walletIds, onChainState],
    }),
  ],
);
