import { getTableColumns } from "drizzle-orm";
import { isPackedHex, unpackHexSql } from "../../db/hex-column.ts";
import type {
  ChainState,
  EscrowLock,
  EscrowRecord,
  EscrowTerms,
  StoredFunds,
  WalletReference,
} from "../model/escrow-record.ts";
import { type Intent, nextActionOf } from "../model/intent.ts";
import {
  MISMATCH_STATUS,
  type TransactionRecord,
  type TransactionStatus,
} from "../model/transaction-record.ts";
import { escrow } from "./tables.ts";

/** Columns that follow from others, or that statements of their own write and read. */
const DERIVED_COLUMNS = [
  "outputLength",
  "pendingHash",
  "requestedAction",
  "errorType",
  "charge",
  "dueAt",
  "deadline",
  "transactionHash",
  "blockTime",
] as const satisfies (keyof typeof escrow.$inferSelect)[];

/** A row of `escrow` as `ESCROW_COLUMNS` reads it. */
export interface EscrowRow
  extends Omit<typeof escrow.$inferSelect, (typeof DERIVED_COLUMNS)[number]> {
  /** `LiveOutput` as JSON. */
  output: string | null;
  /** `PendingTransaction` as JSON. */
  pendingTransaction: string | null;
  /** The newest that was applied, as JSON; itself in a row of the database that is one JSON text. */
  newestTransaction: string | TransactionRecord | null;
}

/** SQL of a row of `escrow_transaction` as the JSON of its `TransactionRecord`. */
export const TRANSACTION_SQL = `json_object('id', escrow_transaction.id,
  'createdAt', escrow_transaction.created_at, 'updatedAt', escrow_transaction.updated_at,
  'txHash', escrow_transaction.tx_hash,
  'status', replace(escrow_transaction.status, '${MISMATCH_STATUS}', 'Confirmed'),
  'fees', fees, 'blockHeight', escrow_transaction.block_height, 'blockTime', escrow_transaction.block_time,
  'previousOnChainState', previous_on_chain_state, 'newOnChainState', new_on_chain_state)`;

/** SQL on a row of `escrow`: its newest transaction that was applied, as JSON. */
export const NEWEST_TRANSACTION_SQL = `(SELECT ${TRANSACTION_SQL} FROM escrow_transaction
  WHERE record_id = escrow.id AND tx_hash = escrow.transaction_hash)`;

/** The columns of `EscrowRow`, for SELECT from `escrow`. */
export const ESCROW_COLUMNS = buildEscrowColumns({
  output: "iif(output_length IS NULL, NULL, (SELECT output FROM escrow_open WHERE id = escrow.id))",
  pendingTransaction: `iif(pending_hash IS NULL, NULL,
    (SELECT pending_transaction FROM escrow_open WHERE id = escrow.id))`,
  newestTransaction: NEWEST_TRANSACTION_SQL,
});

/** The same of an archive, whose records hold no funds and wait for nothing. They are read without other rows. */
export const ARCHIVED_ESCROW_COLUMNS = buildEscrowColumns({
  output: "NULL",
  pendingTransaction: "NULL",
  newestTransaction: "newest_transaction",
});

/** @param others - SQL of what other tables have, by alias */
function buildEscrowColumns(others: Record<string, string>): string {
  return [
    ...Object.entries(getTableColumns(escrow))
      .filter(([key]) => !DERIVED_COLUMNS.some((derived) => derived === key))
      .map(([key, column]) => {
        const sql = isPackedHex(column) ? unpackHexSql(column.name) : column.name;
        return key === sql ? sql : `${sql} AS ${key}`;
      }),
    ...Object.entries(others).map(([alias, sql]) => `${sql} AS ${alias}`),
  ].join(", ");
}

/** The record of a row. */
export function toEscrowRecord(row: EscrowRow): EscrowRecord {
  const terms: EscrowTerms = {
    ...(row.isRequested !== null && { isRequested: true }),
    agentIdentifier: row.agentIdentifier,
    ...(row.agentName !== null && { agentName: row.agentName }),
    pricingType: row.pricingType,
    inputHash: row.inputHash,
    payByTime: row.payByTime,
    submitResultTime: row.submitResultTime,
    unlockTime: row.unlockTime,
    externalDisputeUnlockTime: row.externalDisputeUnlockTime,
    collateralReturn: row.collateralReturn,
    buyer: row.buyer,
    buyerVkey: row.buyerVkey,
    seller: row.seller,
    sellerVkey: row.sellerVkey,
    buyerReturnAddress: row.buyerReturnAddress,
    sellerReturnAddress: row.sellerReturnAddress,
    funds: parseFunds(row.funds),
    ...(row.walletIds !== null && { walletIds: JSON.parse(row.walletIds) as string[] }),
  };
  const state: ChainState = {
    onChainState: row.onChainState,
    resultHash: row.resultHash,
    buyerCooldown: row.buyerCooldown,
    sellerCooldown: row.sellerCooldown,
    buyerFees: row.buyerFees,
    sellerFees: row.sellerFees,
    withdrawnForSeller: parseFunds(row.withdrawnForSeller),
    withdrawnForBuyer: parseFunds(row.withdrawnForBuyer),
    settled: parseJson(row.settled),
    lock: row.lock === null ? null : parseLock(row.lock, terms),
    transaction:
      typeof row.newestTransaction === "string"
        ? parseJson(row.newestTransaction)
        : row.newestTransaction,
    utxo: row.utxo,
    ...(row.hadMismatch !== null && { hadMismatch: true }),
  };
  return {
    id: row.id,
    side: row.side,
    network: row.network,
    sourceId: row.sourceId,
    sourceType: row.sourceType,
    contractAddress: row.contractAddress,
    policyId: row.policyId,
    blockchainIdentifier: row.blockchainIdentifier,
    identifierHash: row.identifierHash,
    requestedById: row.requestedById,
    terms,
    state,
    output: parseJson(row.output),
    progress: {
      intent: parseJson(row.intent),
      pendingTransaction: parseJson(row.pendingTransaction),
      error: parseJson(row.error),
      expiredAt: row.expiredAt,
    },
    wallet: toWallet(row, { side: row.side, terms, state }),
    isWalletRemoved: row.walletRemoved !== null,
    lastDeadlineWarning: row.lastDeadlineWarning,
    createdAt: row.createdAt,
    updatedAt: row.updatedAt,
    lastCheckedAt: row.lastCheckedAt,
    chainChangedAt: row.chainChangedAt,
    actionChangedAt: row.actionChangedAt,
    changedAt: row.changedAt,
    sequence: row.sequence,
    revision: row.revision,
  };
}

/** The values of the columns that follow from a record, by their names in `escrow`. */
export function toColumns(record: EscrowRecord) {
  const { terms, state, wallet, progress, output, isWalletRemoved, ...plain } = record;
  const { transaction, ...chainState } = state;
  const { requestedAction, errorType } = nextActionOf(record);
  return {
    ...plain,
    ...terms,
    ...chainState,
    isRequested: terms.isRequested ? 1 : null,
    funds: JSON.stringify(terms.funds),
    walletIds: terms.walletIds && JSON.stringify(terms.walletIds),
    withdrawnForSeller: JSON.stringify(state.withdrawnForSeller),
    withdrawnForBuyer: JSON.stringify(state.withdrawnForBuyer),
    settled: state.settled && JSON.stringify(state.settled),
    lock: state.lock && stringifyLock(state.lock, terms),
    transactionHash: transaction?.txHash,
    blockTime: transaction?.blockTime,
    hadMismatch: state.hadMismatch ? 1 : null,
    outputLength: output && JSON.stringify(output).length,
    intent: progress.intent && JSON.stringify(progress.intent),
    pendingHash: progress.pendingTransaction?.transaction.txHash,
    error: progress.error && JSON.stringify(progress.error),
    expiredAt: progress.expiredAt,
    walletId: wallet?.id,
    walletVkey: wallet?.vkey,
    walletAddress: wallet?.address === ownAddressOf(record) ? null : wallet?.address,
    walletRemoved: isWalletRemoved ? 1 : null,
    requestedAction,
    errorType,
  };
}

/** Names of the fields of a lock, which the terms have too. */
const LOCK_FIELDS = [
  "buyer",
  "buyerVkey",
  "buyerReturnAddress",
  "sellerReturnAddress",
  "collateralReturn",
] as const satisfies (keyof EscrowLock)[];

function stringifyLock(lock: EscrowLock, terms: EscrowTerms): string {
  const different = LOCK_FIELDS.filter((field) => lock[field] !== terms[field]);
  return JSON.stringify(Object.fromEntries(different.map((field) => [field, lock[field]])));
}

function parseLock(json: string, terms: EscrowTerms): EscrowLock {
  const agreed = Object.fromEntries(LOCK_FIELDS.map((field) => [field, terms[field]]));
  return { ...agreed, ...(JSON.parse(json) as Partial<EscrowLock>) } as EscrowLock;
}

/** The address of the party whose wallet acts; null: nobody knows it yet. */
function ownAddressOf(record: Pick<EscrowRecord, "side" | "terms" | "state">): string | null {
  const { side, terms, state } = record;
  return side === "payment" ? terms.seller : (state.lock?.buyer ?? terms.buyer);
}

function toWallet(
  { walletId, walletVkey, walletAddress }: EscrowRow,
  record: Pick<EscrowRecord, "side" | "terms" | "state">,
): WalletReference | null {
  const address = walletAddress ?? ownAddressOf(record);
  if (walletId === null || walletVkey === null || address === null) return null;
  return { id: walletId, vkey: walletVkey, address };
}

function parseFunds(json: string): StoredFunds[] {
  return json === "[]" ? [] : (JSON.parse(json) as StoredFunds[]);
}

function parseJson<Value>(json: string | null): Value | null {
  return json === null ? null : (JSON.parse(json) as Value);
}

/** A row of `escrow_transaction` to write. */
export interface TransactionChange {
  recordId: string;
  transaction: TransactionRecord;
  status: TransactionStatus | typeof MISMATCH_STATUS;
  /** What it was made for; null: it is not ours. */
  intent: Intent | null;
  /** Once the transaction is in a block: its place there, and how to undo its effects on the record. */
  inclusion: { txIndex: number; undoData: string } | null;
}

/** A row of `escrow_transaction` as it was read. */
export interface StoredTransaction {
  recordId: string;
  transaction: TransactionRecord;
  intent: Intent | null;
}
