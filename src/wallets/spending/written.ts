/** How transactions are written down, in the table and in the journal. */
import type { Value } from "../../chain/transaction/value.ts";
import type { Handed } from "./journal.ts";
import type { Phase } from "./life.ts";
import type { OwnOutput, WalletTransaction } from "./transaction.ts";

/** A transaction as its table has it. */
export interface TransactionRow {
  hash: string;
  phase: Phase;
  sequence: number;
  sourceId: string;
  content: string;
  blockHeight: number | null;
  blockHash: string | null;
  blockTime: number | null;
  overHeight: number | null;
  error: string | null;
  movedAt: number;
}

type Content = Pick<
  WalletTransaction,
  | "tasks"
  | "inputs"
  | "reads"
  | "lineIn"
  | "lineOut"
  | "validFrom"
  | "validTo"
  | "size"
  | "failedUpdates"
> & {
  /** Not of transactions that were stored before there were steps. */
  memory?: number;
  canBeOvertaken?: boolean;
  fee: string;
  made: StoredOutput[];
  collateral: { inputs: readonly string[]; returned: StoredOutput } | null;
};

interface StoredOutput {
  index: number;
  value: [unit: string, amount: string][];
}

/** JSON of what never changes of a transaction, but for the updates that failed. */
export function contentOf(transaction: WalletTransaction): string {
  const { tasks, inputs, lineIn, lineOut, validFrom, validTo, collateral } = transaction;
  const { size, memory, canBeOvertaken, reads = [], failedUpdates } = transaction;
  const content: Content = {
    ...{ tasks, inputs, lineIn, lineOut, validFrom, validTo, size, memory, canBeOvertaken, reads },
    ...(failedUpdates && { failedUpdates }),
    fee: String(transaction.fee),
    made: transaction.made.map(storedOutput),
    collateral: collateral && {
      inputs: collateral.inputs,
      returned: storedOutput(collateral.returned),
    },
  };
  return JSON.stringify(content);
}

/** A transaction as it was stored. */
export function transactionOf({ content, ...row }: TransactionRow): WalletTransaction {
  const { fee, made, collateral, ...rest } = JSON.parse(content) as Content;
  return {
    ...row,
    memory: 0,
    canBeOvertaken: false,
    ...rest,
    fee: BigInt(fee),
    made: made.map(ownOutput),
    collateral: collateral && {
      inputs: collateral.inputs,
      returned: ownOutput(collateral.returned),
    },
  };
}

const storedOutput = ({ index, value }: OwnOutput): StoredOutput => ({
  index,
  value: [...value].map(([unit, amount]) => [unit, String(amount)]),
});

const ownOutput = ({ index, value }: StoredOutput): OwnOutput => ({
  index,
  value: new Map(value.map(([unit, amount]) => [unit, BigInt(amount)])) satisfies Value,
});

/** A transaction for the journal. */
export function handedOf(transaction: WalletTransaction): Handed {
  const { hash, sourceId } = transaction;
  return { hash, written: JSON.stringify({ sourceId, content: contentOf(transaction) }) };
}

/**
 * A transaction from the journal, which may or may not have come into a block since.
 *
 * @param now - epoch milliseconds
 */
export function transactionHanded({ hash, written }: Handed, now: number): WalletTransaction {
  const kept = JSON.parse(written) as Pick<TransactionRow, "sourceId" | "content">;
  return transactionOf({
    ...kept,
    hash,
    phase: "Sent",
    sequence: 0,
    blockHeight: null,
    blockHash: null,
    blockTime: null,
    overHeight: null,
    error: null,
    movedAt: now,
  });
}
