import { type Block, ProviderError } from "../../src/chain/provider/provider.ts";
import { timeOfSlot } from "../../src/chain/slots.ts";
import {
  type ChainTransaction,
  decodeTransaction,
} from "../../src/chain/transaction/decode-transaction.ts";
import { formatOutputReference } from "../../src/chain/transaction/transaction-plan.ts";
import type { Value } from "../../src/chain/transaction/value.ts";
import { requireForm } from "./form.ts";
import {
  applied,
  isPossible,
  isValidAt,
  leftOfCollateral,
  markedInvalid,
  type Output,
  requireConserved,
  requireSigned,
} from "./rules.ts";

/** Bytes that a block takes. */
const BLOCK_BYTES = 90_112;

export interface Sent extends ChainTransaction {
  cbor: Uint8Array;
}

/** A block, and what is unspent after it. */
export interface ForgedBlock extends Block {
  transactions: Sent[];
  /** The output that a foreign transaction spends in this block. */
  taken?: string;
  /** What is unspent after it. */
  unspent: ReadonlyMap<string, Output>;
}

/** What goes wrong with the next transaction that is sent. */
export type SubmitFault = "lostBefore" | "lostAfter" | "busy";

/** A ledger in memory, and its mempool; what a provider shows of it is in seen.ts. */
export class ModelLedger {
  /** Milliseconds. */
  now: number;
  /** Blocks by which the provider's lists of outputs, and of transactions, lag behind. */
  outputsBehind = 0;
  transactionsBehind = 0;
  submitFaults: SubmitFault[] = [];
  /** Whether the provider refuses every call but submissions, which go elsewhere. */
  isBanned = false;
  /** How often the outputs of an address were asked for. */
  outputsAsked = 0;
  /** Outputs, by name, whose script refuses to be spent; and whether a node says which it was. */
  readonly locked = new Set<string>();
  namesFailures = true;
  /** Positions of inputs whose script refuses a transaction, beside those that are locked. */
  refuses: (tx: Sent, unspent: ReadonlyMap<string, Output>) => readonly number[] = () => [];
  /** Transactions whose script fails: it does so wherever the same inputs are, and no node takes them. */
  readonly #failing = new Set<string>();
  /** Transactions whose script passed, which it does as surely, whatever rolled back its block. */
  readonly #passed = new Set<string>();
  #blocks: ForgedBlock[];
  #mempool: Sent[] = [];
  #made = 0;
  #highest = 0;

  constructor(begins: number, funds: ReadonlyMap<string, Output>) {
    this.now = begins;
    this.#blocks = [this.#block(0, [], funds)];
  }

  /** The chain as it is now, the first block first. */
  get blocks(): readonly ForgedBlock[] {
    return this.#blocks;
  }

  /** From the first, as a provider shows them whose transactions lag behind. */
  get shown(): readonly ForgedBlock[] {
    return this.#blocks.slice(0, Math.max(this.#blocks.length - this.transactionsBehind, 1));
  }

  get tip(): ForgedBlock {
    const tip = this.#blocks.at(-1);
    if (!tip) throw new Error("a chain has a block");
    return tip;
  }

  /** Whether it has more blocks than before any rollback. */
  get isLongest(): boolean {
    return this.tip.height > this.#highest;
  }

  /** How often each address was paid, by what is in blocks. */
  paidTo(address: string): number {
    return this.#blocks
      .flatMap(({ transactions }) => transactions)
      .filter(({ outputs }) => outputs.some((one) => one.address === address)).length;
  }

  unspentAt(address: string): [string, Output][] {
    return [...this.tip.unspent].filter(([, output]) => output.address === address);
  }

  /** A block of what fits of the mempool. */
  mine(): void {
    const taken: Sent[] = [];
    let unspent = this.tip.unspent;
    let size = 0;
    const slot = this.#slot();
    for (const one of this.#mempool) {
      size += one.cbor.length;
      if (size > BLOCK_BYTES) break;
      if (!isValidAt(one, slot) || !isPossible(one, unspent)) continue;
      unspent = applied(one, unspent);
      this.#passed.add(one.hash);
      taken.push(one);
    }
    this.#blocks.push(this.#block(this.tip.height + 1, taken, unspent));
    this.#tidy();
  }

  /** @param returns - whether what was in the blocks goes back to the mempool */
  rollback(blocks: number, returns: boolean): void {
    this.#highest = Math.max(this.#highest, this.tip.height);
    const kept = Math.max(this.#blocks.length - blocks, 1);
    const gone = this.#blocks.slice(kept);
    this.#blocks = this.#blocks.slice(0, kept);
    if (returns)
      this.#mempool.unshift(
        ...gone.flatMap(({ transactions }) =>
          transactions.filter(({ hash }) => !this.#failing.has(hash)),
        ),
      );
    this.#tidy();
  }

  evict(n: number): void {
    this.#mempool.splice(n % Math.max(this.#mempool.length, 1), 1);
    this.#tidy();
  }

  /** Outputs that somebody with the wallet's key has ever spent. */
  readonly spentElsewhere = new Set<string>();

  /** Spends one of the wallet's outputs with its key elsewhere, in a separate block. */
  spendElsewhere(address: string, n: number): void {
    const own = this.unspentAt(address);
    const [name, output] = own[n % Math.max(own.length, 1)] ?? [];
    if (name === undefined || output === undefined) return;
    const unspent = new Map(this.tip.unspent);
    unspent.delete(name);
    unspent.set(`${this.#hash()}#0`, output);
    this.spentElsewhere.add(name);
    this.#blocks.push({ ...this.#block(this.tip.height + 1, [], unspent), taken: name });
    this.#tidy();
  }

  /** Spends a script's output by another party, in a separate block, if the output exists. */
  overtake(name: string): void {
    if (!this.tip.unspent.has(name)) return;
    const unspent = new Map(this.tip.unspent);
    unspent.delete(name);
    this.#blocks.push({ ...this.#block(this.tip.height + 1, [], unspent), taken: name });
    this.#tidy();
  }

  /** Puts a foreign transaction into a separate block. @returns whether the chain accepts it */
  forge(cbor: Uint8Array): boolean {
    const tx = { ...decodeTransaction(cbor), cbor };
    const { unspent } = this.tip;
    const isTaken = isValidAt(tx, this.#slot()) && isPossible(tx, unspent);
    if (!isTaken || this.refusing(tx, unspent).length > 0) return false;
    requireLawful(tx, unspent);
    this.#blocks.push(this.#block(this.tip.height + 1, [tx], applied(tx, unspent)));
    this.#tidy();
    return true;
  }

  /**
   * Puts a transaction with a failing script into a separate block, if the chain allows it. The
   * transaction costs an output of the wallet and returns the rest of the collateral.
   *
   * @param returned - the expected rest
   * @param others - transactions with this collateral
   */
  failScript(
    hash: string,
    costs: readonly string[],
    returned: { index: number; value: Value },
    others: readonly string[],
  ): void {
    const original = this.#mempool.find((one) => one.hash === hash && !this.#passed.has(hash));
    const taken = costs.flatMap((cost) => this.tip.unspent.get(cost) ?? []);
    const isThere = taken.length === costs.length;
    if (!original || !isPossible(original, this.tip.unspent) || !isThere) return;
    const { index, output } = leftOfCollateral(original, taken);
    const isExpected = [...output.value].every(([unit, n]) => returned.value.get(unit) === n);
    if (index !== returned.index || !isExpected || returned.value.size !== output.value.size)
      throw new Error("the wallet expects something else to be left of its collateral");
    const unspent = new Map(this.tip.unspent).set(
      formatOutputReference({ txHash: hash, index }),
      output,
    );
    for (const cost of costs) unspent.delete(cost);
    this.#mempool = this.#mempool.filter((one) => !others.includes(one.hash));
    const cbor = markedInvalid(original.cbor);
    const failed = { ...original, cbor, outputs: [], isValid: false };
    this.#failing.add(hash);
    this.#blocks.push(this.#block(this.tip.height + 1, [failed], unspent));
    this.#tidy();
  }

  /** Pays the address in a separate block. */
  fund(address: string, ...values: readonly Value[]): void {
    const maker = this.#hash();
    const unspent = new Map(this.tip.unspent);
    for (const [i, value] of values.entries()) unspent.set(`${maker}#${i}`, { address, value });
    this.#blocks.push(this.#block(this.tip.height + 1, [], unspent));
  }

  /** Names of outputs that foreign transactions in blocks have spent. */
  taken(): string[] {
    return this.#blocks.flatMap(({ taken }) => taken ?? []);
  }

  /** What a node answers to it. @throws ProviderError */
  submit(cbor: Uint8Array): { refused: string } | null {
    const fault = this.submitFaults.shift();
    if (fault === "busy") throw new ProviderError("busy", { status: 425 });
    if (fault === "lostBefore") throw new ProviderError("lost");
    const answer = this.#take({ ...decodeTransaction(cbor), cbor });
    if (fault === "lostAfter") throw new ProviderError("lost");
    return answer;
  }

  #take(tx: Sent): { refused: string } | null {
    if (!isValidAt(tx, this.#slot())) return { refused: "OutsideValidityIntervalUTxO" };
    if (this.#blocks.some(({ transactions }) => transactions.some(({ hash }) => hash === tx.hash)))
      return { refused: "All inputs are spent" };
    const unspent = this.#afterMempool();
    if (!isPossible(tx, unspent)) {
      const missing = tx.inputs.map(formatOutputReference).filter((one) => !unspent.has(one));
      return { refused: `BadInputsUTxO ${missing.join()}` };
    }
    if (this.refusing(tx, unspent).length > 0) return { refused: "PlutusFailure" };
    requireLawful(tx, unspent);
    this.#mempool.push(tx);
    return null;
  }

  /** Positions of inputs whose script refuses a transaction. */
  refusing(tx: Sent, unspent: ReadonlyMap<string, Output>): number[] {
    if (this.#failing.has(tx.hash)) return tx.spendRedeemers.map(({ inputIndex }) => inputIndex);
    const locked = tx.inputs.flatMap((one, i) =>
      this.locked.has(formatOutputReference(one)) ? [i] : [],
    );
    return [...locked, ...this.refuses(tx, unspent)];
  }

  #tidy(): void {
    let unspent = this.tip.unspent;
    this.#mempool = this.#mempool.filter((one) => {
      if (!isPossible(one, unspent) || !isValidAt(one, this.#slot())) return false;
      unspent = applied(one, unspent);
      return true;
    });
  }

  #afterMempool(): ReadonlyMap<string, Output> {
    return this.#mempool.reduce((unspent, one) => applied(one, unspent), this.tip.unspent);
  }

  #slot(): number {
    return Math.floor((this.now - timeOfSlot("Preprod", 0)) / 1000);
  }

  #block(height: number, transactions: Sent[], unspent: ReadonlyMap<string, Output>): ForgedBlock {
    const slot = this.#slot();
    const time = Math.floor(this.now / 1000);
    return { height, hash: this.#hash(), slot, time, transactions, unspent };
  }

  #hash(): string {
    return `b10c${(++this.#made).toString(16).padStart(60, "0")}`;
  }
}

/** @throws what every node would refuse, which nobody builds */
function requireLawful(tx: Sent, unspent: ReadonlyMap<string, Output>): void {
  requireConserved(tx, unspent);
  requireSigned(tx, unspent);
  requireForm(tx, tx.cbor);
}
