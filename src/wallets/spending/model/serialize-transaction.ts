/** How transactions are written down, in the table and in the journal. */
import type { Value } from "../../../chain/transaction/value.ts";
import {
  type OwnOutput,
  UNSEEN_FIELDS,
  type WalletTransaction,
} from "../../model/wallet-transaction.ts";
import type { JournalEntry } from "./journal.ts";

/** A transaction as its table has it. */
export type TransactionRow = Omit<WalletTransaction, keyof StoredContent> & { content: string };

type StoredContent = Pick<
  WalletTransaction,
  | "tasks"
  | "inputs"
  | "reads"
  | "chainedInput"
  | "changeOutput"
  | "validFrom"
  | "validTo"
  | "size"
  | "memory"
  | "isReplaceable"
  | "failedUpdates"
> & {
  fee: string;
  made: StoredOutput[];
  collateral: { inputs: readonly string[]; returned: StoredOutput } | null;
};

interface StoredOutput {
  index: number;
  value: [unit: string, amount: string][];
}

/** JSON of what never changes of a transaction, but for the updates that failed. */
export function serializeContent(transaction: WalletTransaction): string {
  const { tasks, inputs, chainedInput, changeOutput, validFrom, validTo, collateral } = transaction;
  const { size, memory, isReplaceable, reads = [], failedUpdates } = transaction;
  const content: StoredContent = {
    ...{ tasks, inputs, chainedInput, changeOutput, validFrom, validTo },
    ...{ size, memory, isReplaceable, reads },
    ...(failedUpdates && { failedUpdates }),
    fee: String(transaction.fee),
    made: transaction.made.map(toStoredOutput),
    collateral: collateral && {
      inputs: collateral.inputs,
      returned: toStoredOutput(collateral.returned),
    },
  };
  return JSON.stringify(content);
}

/** A transaction as it was stored. */
export function parseTransaction({ content, ...row }: TransactionRow): WalletTransaction {
  const { fee, made, collateral, ...rest } = JSON.parse(content) as StoredContent;
  return {
    ...row,
    ...rest,
    fee: BigInt(fee),
    made: made.map(toOwnOutput),
    collateral: collateral && {
      inputs: collateral.inputs,
      returned: toOwnOutput(collateral.returned),
    },
  };
}

const toStoredOutput = ({ index, value }: OwnOutput): StoredOutput => ({
  index,
  value: [...value].map(([unit, amount]) => [unit, String(amount)]),
});

const toOwnOutput = ({ index, value }: StoredOutput): OwnOutput => ({
  index,
  value: new Map(value.map(([unit, amount]) => [unit, BigInt(amount)])) satisfies Value,
});

/** A transaction for the journal. */
export function toJournalEntry(transaction: WalletTransaction): JournalEntry {
  const { hash, sourceId } = transaction;
  return { hash, content: JSON.stringify({ sourceId, content: serializeContent(transaction) }) };
}

/**
 * A transaction from the journal, which may or may not have come into a block since.
 *
 * @param now - epoch milliseconds
 */
export function fromJournalEntry({ hash, content }: JournalEntry, now: number): WalletTransaction {
  const kept = JSON.parse(content) as Pick<TransactionRow, "sourceId" | "content">;
  return parseTransaction({
    ...kept,
    hash,
    phase: "Sent",
    sequence: 0,
    ...UNSEEN_FIELDS,
    movedAt: now,
  });
}
