import { getTableColumns } from "drizzle-orm";
import type { AddressTransaction } from "../../chain/provider/provider.ts";
import type { ChainState, EscrowRecord, EscrowTerms } from "../model/escrow-record.ts";
import { type Intent, nextActionOf } from "../model/intent.ts";
import type {
  MISMATCH_STATUS,
  TransactionRecord,
  TransactionStatus,
} from "../model/transaction-record.ts";
import { escrow } from "./tables.ts";

/** Columns that are copies of others, or that statements of their own write and read. */
type DerivedColumn =
  | "onChainState"
  | "utxo"
  | "docVersion"
  | "doc"
  | "requestedAction"
  | "errorType"
  | "charge"
  | "dueAt"
  | "deadline";

const DERIVED_COLUMNS: ReadonlySet<string> = new Set<DerivedColumn>([
  "onChainState",
  "utxo",
  "docVersion",
  "doc",
  "requestedAction",
  "errorType",
  "charge",
  "dueAt",
  "deadline",
]);

/** A row of `escrow` as `ESCROW_COLUMNS` reads it. */
export type EscrowRow = Omit<typeof escrow.$inferSelect, DerivedColumn>;

/** Columns with JSON, which a record has as objects. */
type JsonColumn =
  | "terms"
  | "state"
  | "output"
  | "intent"
  | "pendingTransaction"
  | "error"
  | "wallet";

/** A record with all columns of its row. One that is not stored yet may leave out what its model does not name. */
export type StoredRecord = EscrowRecord &
  Partial<Omit<EscrowRow, JsonColumn | "expiredAt" | "walletRemoved" | keyof EscrowRecord>>;

/** The columns of `EscrowRow`, for SELECT. */
export const ESCROW_COLUMNS = Object.entries(getTableColumns(escrow))
  .filter(([key]) => !DERIVED_COLUMNS.has(key))
  .map(([key, { name }]) => (key === name ? name : `${name} AS ${key}`))
  .join(", ");

/** The record of a row: its plain columns as they are, and the others parsed. */
export function toEscrowRecord({
  intent,
  pendingTransaction,
  error,
  expiredAt,
  walletRemoved,
  ...row
}: EscrowRow): StoredRecord {
  return {
    ...row,
    terms: JSON.parse(row.terms) as EscrowTerms,
    state: JSON.parse(row.state) as ChainState,
    output: parseJson(row.output),
    progress: {
      intent: parseJson(intent),
      pendingTransaction: parseJson(pendingTransaction),
      error: parseJson(error),
      expiredAt,
    },
    wallet: parseJson(row.wallet),
    isWalletRemoved: walletRemoved !== null,
  };
}

/** The columns of `terms`, `state`, what is wanted and what follows from that: JSON text, or filtered by. */
export function toColumns(record: EscrowRecord) {
  const { terms, state, wallet, progress, output } = record;
  const { requestedAction, errorType } = nextActionOf(record);
  return {
    terms: JSON.stringify(terms),
    state: JSON.stringify(state),
    output: output && JSON.stringify(output),
    intent: progress.intent && JSON.stringify(progress.intent),
    pendingTransaction: progress.pendingTransaction && JSON.stringify(progress.pendingTransaction),
    error: progress.error && JSON.stringify(progress.error),
    expiredAt: progress.expiredAt,
    wallet: wallet && JSON.stringify(wallet),
    walletRemoved: record.isWalletRemoved ? 1 : null,
    requestedAction,
    errorType,
  };
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
  /** Once it is in a block: its place there, and `storedBefore` of the record. */
  inclusion: { txIndex: number; undoData: string } | null;
}

/** A row of `escrow_transaction` as it was read. */
export interface StoredTransaction {
  recordId: string;
  transaction: TransactionRecord;
  intent: Intent | null;
}

/** A transaction as a block that was applied has it. */
export function toConfirmedTransaction(
  transaction: Pick<
    TransactionRecord,
    "id" | "createdAt" | "fees" | "previousOnChainState" | "newOnChainState"
  >,
  { txHash, blockHeight, blockTime }: AddressTransaction,
  now: number,
): TransactionRecord {
  return { ...transaction, updatedAt: now, txHash, status: "Confirmed", blockHeight, blockTime };
}
