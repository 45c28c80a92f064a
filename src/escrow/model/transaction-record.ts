import type { OnChainState } from "../../chain/network.ts";

/** What becomes of a transaction of a record. */
export const TRANSACTION_STATUSES = [
  /** Stored, and in no block that was applied. */
  "Pending",
  "Confirmed",
  /** Its validity was over first. */
  "FailedViaTimeout",
  /** A person gave it up. */
  "FailedViaManualReset",
  /** Its block is gone, the network did not accept the transaction, or what it spends was taken. */
  "RolledBack",
] as const;
export type TransactionStatus = (typeof TRANSACTION_STATUSES)[number];

/**
 * Where a row of `escrow_transaction` says so instead: it locked something else than was asked for. It is kept
 * so that a rollback takes back what that left on the record, and is not among the record's transactions.
 */
export const MISMATCH_STATUS = "Mismatch";

/** A transaction as the interface shows it (`CurrentTransaction`, `TransactionHistory`). */
export interface TransactionRecord {
  /** Neither this nor `createdAt` ever changes. */
  id: string;
  /** Epoch milliseconds. */
  createdAt: number;
  updatedAt: number;
  txHash: string;
  status: TransactionStatus;
  /** Minor units, decimal text. Like its block, null until it is in one. */
  fees: string | null;
  blockHeight: number | null;
  /** Unix seconds. */
  blockTime: number | null;
  previousOnChainState: OnChainState | null;
  newOnChainState: OnChainState | null;
}
