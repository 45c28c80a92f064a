import type { ArchivedPlace } from "../../archive/archived-place.ts";
import type { OnChainState } from "../../chain/network.ts";
import type { AddressTransaction } from "../../chain/provider/provider.ts";
import { createIdGenerator } from "../../db/id.ts";
import type { RecordEvent } from "../../events/outbox.ts";
import type { PricingType } from "../../registry/entries/pricing.ts";
import type { Deadline } from "../model/compute-due-at.ts";
import type { ChainState, EscrowRecord, LiveOutput, Side } from "../model/escrow-record.ts";
import {
  type Intent,
  type NextAction,
  nextActionOf,
  type Progress,
  type RecordError,
} from "../model/intent.ts";
import { MISMATCH_STATUS, type TransactionRecord } from "../model/transaction-record.ts";
import { EMPTY_PROGRESS_UNDO, type ProgressUndo, type UndoData } from "../model/undo-data.ts";
import type { StoredTransaction, TransactionChange } from "./escrow-row.ts";
import { type ChangeKind, createRecordEvent, type EventExtras } from "./record-event.ts";
import { RecordIndex } from "./record-index.ts";
import type { ChangedStamps, PastAction } from "./render-record.ts";

/** What becomes of a record. */
type ChangedFields = Pick<EscrowRecord, "state" | "output" | "progress" | "isWalletRemoved">;

/** What a transaction of the chain makes of a record. */
export interface ChainStep {
  state: Omit<ChainState, "transaction" | "onChainState"> & { onChainState: OnChainState };
  output: LiveOutput | null;
  progress: Progress;
  undo: ProgressUndo;
}

/** A row of `escrow_action` to write. */
interface PastActionChange extends PastAction {
  recordId: string;
  /** The transaction that ended the action, and undoes that with itself. */
  txHash: string | null;
}

/** What a change set knows beside its records. */
interface ChangeSetContext {
  /** By agent identifier, as far as known. */
  pricing?: ReadonlyMap<string, PricingType>;
  /**
   * Stored records that the transactions must leave alone, though one of them may carry the
   * identifier of such a record.
   */
  others?: EscrowRecord[];
  /** What is stored of the transactions. */
  stored?: StoredTransaction[];
  /** Where those of the records are that archives have, by id. */
  archived?: ReadonlyMap<string, ArchivedPlace>;
}

/** A record that this batch writes, and which of its stamps move. */
interface RecordChange {
  record: EscrowRecord;
  changedStamps: ChangedStamps;
}

/**
 * What a run of consecutive transactions does, folded in memory. Each record is written once, in
 * its last state. Each step leaves its transaction and its event.
 */
export class ChangeSet {
  readonly records = new Map<string, RecordChange>();
  readonly transactions: TransactionChange[] = [];
  readonly pastActions: PastActionChange[] = [];
  readonly events: RecordEvent[] = [];
  /** Locks that named our wallets but that anyone could have made for free. */
  ignoredLocks = 0;
  /** Purchases that were over when their lock came, by id. */
  readonly lateLockedPurchaseIds: string[] = [];
  /** Characters of the records' new states: each is written about five times. */
  stateTextLength = 0;

  readonly now: number;
  /** By agent identifier, as far as known. */
  readonly pricing: ReadonlyMap<string, PricingType>;
  readonly #tipHeight: number;
  /** Histories are shown in the order of their ids. */
  readonly #newId: () => string;
  readonly #index: RecordIndex;
  readonly #outOfScope: RecordIndex;
  readonly #storedTransactions: ReadonlyMap<string, StoredTransaction>;
  #archived: ReadonlyMap<string, ArchivedPlace>;

  /**
   * @param records - the stored records that the transactions may touch
   * @param now - epoch milliseconds
   */
  constructor(
    records: EscrowRecord[],
    now: number,
    tipHeight: number,
    known: ChangeSetContext = {},
  ) {
    const { pricing = new Map(), others = [], stored = [], archived = new Map() } = known;
    this.now = now;
    this.pricing = pricing;
    this.#tipHeight = tipHeight;
    this.#newId = createIdGenerator(now);
    this.#archived = archived;
    this.#index = new RecordIndex(records);
    this.#outOfScope = new RecordIndex(others);
    this.#storedTransactions = new Map(
      stored.map((one) => [transactionKeyOf(one.recordId, one.transaction.txHash), one]),
    );
  }

  /** The records whose funds are in an output (`hash#index`): none, one, or one of each side. */
  findByUtxo(utxo: string): EscrowRecord[] {
    return this.#index.findByUtxo(utxo);
  }

  /** The record with an identifier, if there is one. */
  findByIdentifier(side: Side, identifierHash: string): EscrowRecord | undefined {
    return this.#index.findByIdentifier(side, identifierHash);
  }

  /** Whether an identifier is that of a record which is outside the scope of this run. */
  isOutsideScope(side: Side, identifierHash: string): boolean {
    return this.#outOfScope.findByIdentifier(side, identifierHash) !== undefined;
  }

  /** Where the changed records are that must come back from archives before they are written. */
  listArchivedPlaces(): ArchivedPlace[] {
    return [...this.records.keys()].flatMap((id) => this.#archived.get(id) ?? []);
  }

  /** All of them are in the database again. */
  markReturned(): void {
    this.#archived = new Map();
  }

  /** What was stored of a record's transaction before this run. */
  findStoredTransaction({ id }: EscrowRecord, txHash: string): StoredTransaction | undefined {
    return this.#storedTransactions.get(transactionKeyOf(id, txHash));
  }

  /** What the service made a transaction of a record for; null: the transaction is another party's. */
  findTransactionIntent(record: EscrowRecord, txHash: string): Intent | null {
    return this.findStoredTransaction(record, txHash)?.intent ?? null;
  }

  /** Moves a record to what it is after a transaction of the chain. */
  advance(record: EscrowRecord, step: ChainStep, at: AddressTransaction, fees: string): void {
    const { progress } = record;
    const transaction = this.#applyTransaction(record, "Confirmed", {
      ...{ at, fees, undo: step.undo },
      newOnChainState: step.state.onChainState,
    });
    const state = { ...step.state, transaction };
    this.stateTextLength += JSON.stringify([state, step.output]).length;
    this.#recordPastAction(record, { state, progress: step.progress }, at.txHash);
    record.lastCheckedAt = this.now;
    this.#changeRecord(record, { state, output: step.output, progress: step.progress });
    const open = progress.pendingTransaction?.transaction;
    if (open && open.txHash !== at.txHash && step.progress.pendingTransaction === null)
      this.writeTransaction(record, { ...open, status: "RolledBack" }, progress.intent);
  }

  /**
   * Notes on a record what locks something else than was asked for: it moves nothing, and undoing it takes
   * the note back.
   */
  noteMismatch(
    record: EscrowRecord,
    error: RecordError,
    at: AddressTransaction,
    fees: string,
  ): void {
    const undo = { ...EMPTY_PROGRESS_UNDO, error: record.progress.error };
    this.#applyTransaction(record, MISMATCH_STATUS, { at, fees, undo, newOnChainState: null });
    const state = { ...record.state, hadMismatch: true as const };
    const progress = { ...record.progress, error };
    this.#recordPastAction(record, { state, progress }, at.txHash);
    this.#changeRecord(record, { ...record, state, progress });
  }

  /** Takes a record back to what it was; the rows of its transactions are written elsewhere. */
  rewind(record: EscrowRecord, change: ChangedFields): void {
    record.lastCheckedAt = this.now;
    this.#changeRecord(record, change);
  }

  /**
   * Changes the progress of a record.
   *
   * @param state - a new state that moves no stamp. Default: the present state.
   */
  setProgress(record: EscrowRecord, progress: Progress, state: ChainState = record.state): void {
    this.#recordPastAction(record, { state, progress }, null);
    this.#changeRecord(record, { ...record, state, progress });
  }

  /** Notes that the wallet that acts for a record, or its payment source, was removed, or is back. */
  setWalletRemoved(record: EscrowRecord, isWalletRemoved: boolean): void {
    this.#recordPastAction(record, { ...record, isWalletRemoved }, null);
    this.#changeRecord(record, { ...record, isWalletRemoved });
  }

  /**
   * Notes that a deadline was told of, or is over, so that nobody hears of it again.
   *
   * @param near - tell of it now
   */
  recordDeadlineWarning(record: EscrowRecord, deadline: Deadline | null, near: boolean): void {
    if (deadline !== null) record.lastDeadlineWarning = deadline.time;
    this.#changeRecord(record, record);
    const known = this.records.get(record.id);
    if (!known || !near || deadline === null) return;
    const { step, time: at } = deadline;
    this.#emitEvent(known, "DEADLINE_NEAR", {
      Deadline: { step, time: new Date(at).toISOString() },
    });
  }

  /** Writes a transaction of the service that is in no block. The record's revision guards it. */
  writeTransaction(
    record: EscrowRecord,
    transaction: TransactionRecord,
    intent: Intent | null,
  ): void {
    this.transactions.push({
      recordId: record.id,
      transaction: { ...transaction, updatedAt: this.now },
      status: transaction.status,
      intent,
      inclusion: null,
    });
    this.#changeRecord(record, record);
  }

  /** Creates a transaction of the service for a record. */
  createTransaction({ state }: EscrowRecord, txHash: string): TransactionRecord {
    return {
      id: this.#newId(),
      createdAt: this.now,
      updatedAt: this.now,
      txHash,
      status: "Pending",
      fees: null,
      blockHeight: null,
      blockTime: null,
      previousOnChainState: state.onChainState,
      newOnChainState: null,
    };
  }

  /** The row of a transaction that is in a block, with what the record was before it. */
  #applyTransaction(
    record: EscrowRecord,
    status: TransactionChange["status"],
    applied: {
      at: AddressTransaction;
      fees: string;
      undo: ProgressUndo;
      newOnChainState: OnChainState | null;
    },
  ): TransactionRecord {
    const { at, undo, ...shown } = applied;
    const { txHash, blockHeight, blockTime, txIndex } = at;
    const stored = this.findStoredTransaction(record, txHash)?.transaction;
    const { id = this.#newId(), createdAt = this.now } = stored ?? {};
    const intent = this.findTransactionIntent(record, txHash);
    const { state } = record;
    const transaction: TransactionRecord = {
      ...{ id, createdAt, previousOnChainState: state.onChainState, ...shown },
      ...{ updatedAt: this.now, txHash, status: "Confirmed", blockHeight, blockTime },
    };
    const undoData = JSON.stringify({ state, undo } satisfies UndoData);
    this.transactions.push({
      ...{ recordId: record.id, transaction, status, intent },
      inclusion: { txIndex, undoData },
    });
    return transaction;
  }

  /** Puts a record into what it is now: moves the stamps and emits the events that follow. */
  #changeRecord(record: EscrowRecord, change: ChangedFields): void {
    const before = record.state;
    const next = { ...record, ...change };
    const { state } = next;
    const isNew = record.revision < 0 && !this.records.has(record.id);
    const was = nextActionOf(record);
    const is = nextActionOf(next);
    const step: ChangedStamps = {
      hasChainChanged:
        isNew ||
        before.onChainState !== state.onChainState ||
        before.resultHash !== state.resultHash,
      hasActionChanged: isNew || !isSameAction(was, is),
    };
    const known = this.records.get(record.id) ?? {
      record,
      changedStamps: { hasChainChanged: false, hasActionChanged: false },
    };
    known.changedStamps = {
      hasChainChanged: known.changedStamps.hasChainChanged || step.hasChainChanged,
      hasActionChanged: known.changedStamps.hasActionChanged || step.hasActionChanged,
    };
    this.#index.remove(record);
    Object.assign(record, change, { updatedAt: this.now });
    if (step.hasActionChanged) record.actionChangedAt = this.now;
    this.records.set(record.id, known);
    this.#index.add(record);

    const previous = isNew
      ? null
      : { onChainState: before.onChainState, requestedAction: was.requestedAction };
    const failed = is.errorType !== null && is.errorType !== was.errorType;
    const recovered = is.errorType === null && was.errorType !== null;
    if (step.hasChainChanged || was.requestedAction !== is.requestedAction || recovered)
      this.#emitEvent(known, "ON_CHAIN_STATUS_CHANGED", { previous });
    const invalid =
      state.onChainState === "FundsOrDatumInvalid" && before.onChainState !== "FundsOrDatumInvalid";
    if (failed || invalid) this.#emitEvent(known, "ON_ERROR", { previous });
  }

  /**
   * Keeps the action that a purchase had, if it is another one now.
   *
   * @param txHash - the transaction that ended it, and undoes that with itself
   */
  #recordPastAction(
    record: EscrowRecord,
    next: Omit<ChangedFields, "output">,
    txHash: string | null,
  ) {
    if (record.side !== "purchase") return;
    const was = nextActionOf(record);
    if (isSameAction(was, nextActionOf({ ...record, ...next }))) return;
    const id = this.#newId();
    const { requestedAction, errorType, errorNote } = was;
    this.pastActions.push({
      ...{ recordId: record.id, id, txHash, requestedAction, errorType, errorNote },
      ...{ createdAt: record.actionChangedAt, updatedAt: this.now },
    });
  }

  /** @param beside - shown with the record */
  #emitEvent({ record, changedStamps }: RecordChange, what: ChangeKind, beside: EventExtras): void {
    record.sequence++;
    const event = createRecordEvent(record, what, beside, {
      changedStamps,
      tipHeight: this.#tipHeight,
      id: this.#newId(),
      stampIndex: [...this.records.keys()].indexOf(record.id),
    });
    this.events.push(event);
  }
}

function transactionKeyOf(recordId: string, txHash: string): string {
  return `${recordId}:${txHash}`;
}

function isSameAction(a: NextAction, b: NextAction): boolean {
  return (
    a.requestedAction === b.requestedAction &&
    a.errorType === b.errorType &&
    a.errorNote === b.errorNote
  );
}
