import type { Ledger } from "./emulator.ts";
import { fitsBlock, fitsMempool, type Limits, loaded, NO_LOAD } from "./limits.ts";
import { allInputsSpent, LedgerRejection, missingInputs } from "./rejection.ts";
import {
  type AssetQuantity,
  type LedgerOutput,
  type LedgerTransaction,
  type OutputReference,
  outputKey,
  withFailedScripts,
} from "./transaction.ts";
import type { LedgerView } from "./view.ts";

/** A node's mempool is full. It may accept the same transaction later. */
export class MempoolFull extends Error {
  override name = "MempoolFull";
}

/** A transaction, and how the mempool validates it. */
interface Entry {
  tx: LedgerTransaction;
  /** The slot at which it was accepted. */
  slot: number;
  /** It was valid at the slot of an earlier block, so its validity interval is not checked again. */
  isReplayed: boolean;
}

/** The confirmed chain below a mempool. */
export interface Confirmed {
  view: LedgerView;
  ledger: Ledger;
}

/** The transactions that a node has accepted and no block contains. They may spend one another. */
export class Mempool {
  readonly #limits: Limits;
  #confirmed: Confirmed;
  #entries: Entry[] = [];
  #load = NO_LOAD;
  /** The confirmed ledger with every entry applied. */
  #ledger: Ledger;

  constructor(confirmed: Confirmed, limits: Limits) {
    this.#limits = limits;
    this.#confirmed = confirmed;
    this.#ledger = confirmed.ledger.snapshot();
  }

  /** In the order in which they were accepted. */
  get transactions(): LedgerTransaction[] {
    return this.#entries.map(({ tx }) => tx);
  }

  /**
   * Adds a transaction if the rules allow it at a slot.
   *
   * @throws MempoolFull, LedgerRejection
   */
  add(tx: LedgerTransaction, slot: number, isReplayed = false): void {
    const load = loaded(this.#load, tx);
    if (!fitsMempool(load, this.#limits)) throw new MempoolFull("Mempool Full");
    this.#requireInputs(tx);
    this.#ledger.submit(tx.cbor, slot);
    this.#entries.push({ tx, slot, isReplayed });
    this.#load = load;
  }

  /**
   * Makes a block of the first transactions that fit, without expired ones and their descendants.
   *
   * @param failed - hashes of transactions whose scripts fail
   * @throws RangeError for an unknown hash
   */
  forge(slot: number, failed: readonly string[]): { txs: LedgerTransaction[]; ledger: Ledger } {
    const unknown = failed.find((hash) => !this.#entries.some(({ tx }) => tx.hash === hash));
    if (unknown !== undefined) throw new RangeError(`${unknown} is not in the mempool`);
    const isWhole = failed.length === 0 && !this.#entries.some((entry) => isOver(entry, slot));
    if (isWhole && fitsBlock(this.#load, this.#limits))
      return { txs: this.transactions, ledger: this.#ledger.snapshot() };

    let ledger = this.#confirmed.ledger.snapshot();
    let load = NO_LOAD;
    const txs: LedgerTransaction[] = [];
    for (const entry of this.#entries) {
      const next = loaded(load, entry.tx);
      if (!fitsBlock(next, this.#limits)) break;
      if (failed.includes(entry.tx.hash)) {
        const tx = withFailedScripts(entry.tx);
        const added = tx.produced.map(({ index, output: { cbor } }) => ({
          txHash: tx.hash,
          index,
          cbor,
        }));
        ledger = ledger.exchanged(tx.spent, added);
        txs.push(tx);
      } else if (!isOver(entry, slot) && isTaken(ledger, entry)) txs.push(entry.tx);
      else continue;
      load = next;
    }
    return { txs, ledger };
  }

  /**
   * Moves onto another confirmed chain, longer or shorter, and drops what that chain does not allow.
   *
   * @returns the dropped transactions that are not in the chain
   */
  rebase(confirmed: Confirmed): LedgerTransaction[] {
    const slot = confirmed.view.tip.slot;
    const waiting = this.#entries.filter(({ tx }) => !confirmed.view.transactions.has(tx.hash));
    this.#confirmed = confirmed;
    return this.#keep(waiting, (entry) => !isOver(entry, slot));
  }

  /**
   * Drops transactions and their descendants, as a node does without notice.
   *
   * @param hashes - all when omitted
   * @returns the dropped transactions
   */
  evict(hashes?: readonly string[]): LedgerTransaction[] {
    return this.#keep(this.#entries, ({ tx }) => hashes !== undefined && !hashes.includes(tx.hash));
  }

  /** An output that a transaction may spend here: a confirmed one, or one of the mempool. */
  unspent(reference: OutputReference): LedgerOutput | undefined {
    const key = outputKey(reference);
    if (this.#entries.some(({ tx }) => tx.spent.some((spent) => outputKey(spent) === key))) return;
    const placed = this.#confirmed.view.output(reference);
    if (placed) return placed.consumedBy === null ? placed.output : undefined;
    const maker = this.#entries.find(({ tx }) => tx.hash === reference.txHash);
    return maker?.tx.produced.find(({ index }) => index === reference.index)?.output;
  }

  /** The outputs that an address (bech32) may spend here: first the confirmed ones, each oldest first. */
  unspentAt(address: string): (OutputReference & { output: LedgerOutput })[] {
    const confirmed = [...(this.#confirmed.view.addresses.get(address)?.unspent.values() ?? [])];
    const pending = this.transactions.flatMap((tx) =>
      tx.produced
        .filter(({ output }) => output.address === address)
        .map(({ index, output }) => ({ txHash: tx.hash, index, output })),
    );
    const spent = new Set(this.transactions.flatMap((tx) => tx.spent.map(outputKey)));
    return [...confirmed, ...pending].filter((utxo) => !spent.has(outputKey(utxo)));
  }

  /** A node's mempool checks that the inputs exist before it applies the ledger's rules. */
  #requireInputs(tx: LedgerTransaction): void {
    const found = tx.inputs.map((reference) => ({ reference, output: this.unspent(reference) }));
    if (found.every(({ output }) => output === undefined)) throw allInputsSpent();
    const missing = found.filter(({ output }) => output === undefined);
    if (missing.length === 0) return;
    const isBurnt = ({ quantity }: AssetQuantity) => quantity < 0n;
    throw missingInputs(
      missing.map(({ reference }) => reference),
      {
        consumed: [
          ...found.flatMap(({ output }) => output?.amount ?? []),
          ...tx.mint.filter((one) => !isBurnt(one)),
        ],
        produced: [
          ...tx.outputs.flatMap(({ amount }) => amount),
          ...tx.mint.filter(isBurnt).map((one) => ({ ...one, quantity: -one.quantity })),
          { unit: "lovelace", quantity: tx.fee },
        ],
      },
    );
  }

  #keep(entries: readonly Entry[], isWanted: (entry: Entry) => boolean): LedgerTransaction[] {
    this.#entries = [];
    this.#load = NO_LOAD;
    this.#ledger = this.#confirmed.ledger.snapshot();
    const dropped: LedgerTransaction[] = [];
    for (const entry of entries) {
      if (isWanted(entry) && isTaken(this.#ledger, entry)) {
        this.#entries.push(entry);
        this.#load = loaded(this.#load, entry.tx);
      } else dropped.push(entry.tx);
    }
    return dropped;
  }
}

/** The validity interval does not include its end. */
function isOver({ tx, isReplayed }: Entry, slot: number): boolean {
  return !isReplayed && tx.validTo !== null && slot >= tx.validTo;
}

/** Applies a transaction that was accepted before, if it remains valid. */
function isTaken(ledger: Ledger, { tx, slot }: Entry): boolean {
  try {
    ledger.submit(tx.cbor, slot);
    return true;
  } catch (error) {
    if (error instanceof LedgerRejection) return false;
    throw error;
  }
}
