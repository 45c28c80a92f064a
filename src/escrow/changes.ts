import type { AddressTransaction } from "../chain/provider.ts";
import { ascendingIds } from "../db/id.ts";
import type { PricingType } from "../registry/pricing.ts";
import type { RecordEvent, RecordEventKind } from "../webhooks/outbox.ts";
import type { ChainState, EscrowRecord, Side, TransactionRecord } from "./record.ts";
import {
  type MovedStamps,
  render,
  renderPastAction,
  withConfirmations,
  withHistories,
} from "./render.ts";

/** A row of `escrow_transaction` to write. */
export interface TransactionChange {
  recordId: string;
  txIndex: number;
  before: ChainState;
  transaction: TransactionRecord;
}

/** A record that this batch writes, and which of its stamps move. */
export interface RecordChange {
  record: EscrowRecord;
  moved: MovedStamps;
}

/**
 * What a run of consecutive transactions does, folded in memory: each record is written once, in
 * its last state, while each step leaves its transaction and its event.
 */
export class ChangeSet {
  readonly records = new Map<string, RecordChange>();
  readonly transactions: TransactionChange[] = [];
  readonly pastActions: { recordId: string; id: string; txHash: string; doc: string }[] = [];
  readonly events: RecordEvent[] = [];
  /** Locks that named our wallets but that a stranger could have made for free. */
  ignoredLocks = 0;
  /** Characters of the states that the records came to: each is written about five times over. */
  stateText = 0;

  readonly now: number;
  /** By agent identifier, as far as known. */
  readonly pricing: ReadonlyMap<string, PricingType>;
  readonly #tipHeight: number;
  /** Histories are shown in the order of their ids. */
  readonly #newId: () => string;
  readonly #byUtxo = new Map<string, EscrowRecord[]>();
  readonly #byIdentifier = new Map<string, EscrowRecord>();

  /**
   * @param known - the stored records that the transactions may touch
   * @param now - epoch milliseconds
   */
  constructor(
    known: EscrowRecord[],
    now: number,
    tipHeight: number,
    pricing: ReadonlyMap<string, PricingType> = new Map(),
  ) {
    this.now = now;
    this.pricing = pricing;
    this.#tipHeight = tipHeight;
    this.#newId = ascendingIds(now);
    for (const record of known) this.#index(record);
  }

  /** The records whose funds are in an output (`hash#index`): none, one, or one of each side. */
  holding(utxo: string): EscrowRecord[] {
    return this.#byUtxo.get(utxo) ?? [];
  }

  /** The record with an identifier, if there is one. */
  find(side: Side, identifierHash: string): EscrowRecord | undefined {
    return this.#byIdentifier.get(`${side}:${identifierHash}`);
  }

  /** Moves a record to its state after a transaction. */
  advance(
    record: EscrowRecord,
    next: Omit<ChainState, "transaction" | "onChainState"> & {
      onChainState: NonNullable<ChainState["onChainState"]>;
    },
    at: AddressTransaction,
    fees: string,
  ): void {
    const transaction: TransactionRecord = {
      id: this.#newId(),
      createdAt: this.now,
      updatedAt: this.now,
      txHash: at.txHash,
      status: "Confirmed",
      fees,
      blockHeight: at.blockHeight,
      blockTime: at.blockTime,
      previousOnChainState: record.state.onChainState,
      newOnChainState: next.onChainState,
    };
    const before = record.state;
    this.transactions.push({ recordId: record.id, txIndex: at.txIndex, before, transaction });
    if (record.side === "purchase" && !sameAction(before, next))
      this.pastActions.push({
        recordId: record.id,
        txHash: at.txHash,
        ...this.#pastAction(before),
      });
    this.stateText += JSON.stringify(next).length;
    this.change(record, { ...next, transaction });
  }

  /** Puts a record into a state, whatever led there: stamps move and events arise as they must. */
  change(record: EscrowRecord, next: ChainState): void {
    const before = record.state;
    this.#unindex(record);
    const isNew = record.rev < 0 && !this.records.has(record.id);
    const step: MovedStamps = {
      chain:
        isNew || before.onChainState !== next.onChainState || before.resultHash !== next.resultHash,
      action: isNew || !sameAction(before, next),
    };
    const known = this.records.get(record.id) ?? { record, moved: { chain: false, action: false } };
    known.moved = {
      chain: known.moved.chain || step.chain,
      action: known.moved.action || step.action,
    };
    record.state = next;
    record.updatedAt = this.now;
    record.lastCheckedAt = this.now;
    this.records.set(record.id, known);
    this.#index(record);

    if (step.chain) this.#emit(known, "ON_CHAIN_STATUS_CHANGED");
    const failed = next.nextAction.errorType !== null && before.nextAction.errorType === null;
    const invalid =
      next.onChainState === "FundsOrDatumInvalid" && before.onChainState !== "FundsOrDatumInvalid";
    if (failed || invalid) this.#emit(known, "ON_ERROR");
  }

  #index(record: EscrowRecord): void {
    this.#byIdentifier.set(`${record.side}:${record.identifierHash}`, record);
    const { utxo } = record.state;
    if (utxo === null) return;
    this.#byUtxo.set(utxo, [...this.holding(utxo), record]);
  }

  #unindex(record: EscrowRecord): void {
    const { utxo } = record.state;
    if (utxo !== null)
      this.#byUtxo.set(
        utxo,
        this.holding(utxo).filter((one) => one.id !== record.id),
      );
  }

  #emit({ record, moved }: RecordChange, what: "ON_CHAIN_STATUS_CHANGED" | "ON_ERROR"): void {
    record.sequence++;
    const kind: RecordEventKind =
      record.side === "payment" ? `PAYMENT_${what}` : `PURCHASE_${what}`;
    const doc = withHistories(render(record, moved), record.side);
    this.events.push({
      id: this.#newId(),
      kind,
      recordId: record.id,
      sequence: record.sequence,
      data: withConfirmations(doc, this.#tipHeight),
      stampIndex: [...this.records.keys()].indexOf(record.id),
    });
  }

  #pastAction(state: ChainState): { id: string; doc: string } {
    const id = this.#newId();
    return { id, doc: renderPastAction(id, state.nextAction, this.now) };
  }
}

function sameAction(a: Pick<ChainState, "nextAction">, b: Pick<ChainState, "nextAction">): boolean {
  const [x, y] = [a.nextAction, b.nextAction];
  return (
    x.requestedAction === y.requestedAction &&
    x.errorType === y.errorType &&
    x.errorNote === y.errorNote
  );
}
