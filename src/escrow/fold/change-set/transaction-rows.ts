import type { AddressTransaction } from "../../../chain/provider/provider.ts";
import type {
  PASSED_OVER,
  TransactionRecord,
  TransactionStatus,
} from "../../transaction-record.ts";
import type { Want } from "../../wanted.ts";

/** A row of `escrow_transaction` to write. */
export interface TransactionChange {
  recordId: string;
  transaction: TransactionRecord;
  status: TransactionStatus | typeof PASSED_OVER;
  /** What it was made for; null: it is not ours. */
  want: Want | null;
  /** Once it is in a block: its place there, and `storedBefore` of the record. */
  applied: { txIndex: number; before: string } | null;
}

/** A row of `escrow_transaction` as it was read. */
export interface StoredTransaction {
  recordId: string;
  transaction: TransactionRecord;
  want: Want | null;
}

/** A transaction as a block that was applied has it. */
export function inBlock(
  transaction: Pick<
    TransactionRecord,
    "id" | "createdAt" | "fees" | "previousOnChainState" | "newOnChainState"
  >,
  { txHash, blockHeight, blockTime }: AddressTransaction,
  now: number,
): TransactionRecord {
  return { ...transaction, updatedAt: now, txHash, status: "Confirmed", blockHeight, blockTime };
}
