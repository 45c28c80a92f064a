import {
  type AdditionalOutput,
  type Block,
  NotEvaluated,
  type Provider,
  ProviderError,
  ScriptFailed,
} from "../../src/chain/provider/provider.ts";
import { timeOfSlot } from "../../src/chain/slots.ts";
import { type ChainTransaction, decodeTransaction } from "../../src/chain/transaction/decode.ts";
import { outputName } from "../../src/chain/transaction/plan.ts";
import { PROTOCOL_PARAMETERS } from "../support/protocol-parameters.ts";
import {
  applied,
  isPossible,
  isValidAt,
  markedInvalid,
  type Output,
  requireConserved,
} from "./rules.ts";

/** Bytes that a block takes. */
const BLOCK_BYTES = 90_112;

export interface Sent extends ChainTransaction {
  cbor: Uint8Array;
}

/** A block, and what is unspent after it. */
export interface ForgedBlock extends Block {
  transactions: Sent[];
  /** The output that somebody else spends in it. */
  taken?: string;
  /** What is unspent after it. */
  unspent: ReadonlyMap<string, Output>;
}

/** What goes wrong with the next transaction that is sent. */
export type SubmitFault = "lostBefore" | "lostAfter" | "busy";

/** A ledger in memory, its mempool, and a provider that shows both, late if it has to. */
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

  /** Somebody with the wallet's key spends one of its outputs elsewhere, in a block of its own. */
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

  /** Somebody else spends a script's output, in a block of its own, if it is there. */
  overtake(name: string): void {
    if (!this.tip.unspent.has(name)) return;
    const unspent = new Map(this.tip.unspent);
    unspent.delete(name);
    this.#blocks.push({ ...this.#block(this.tip.height + 1, [], unspent), taken: name });
    this.#tidy();
  }

  /** Somebody else's transaction, in a block of its own, if the chain takes it. @returns whether it does */
  forge(cbor: Uint8Array): boolean {
    const tx = { ...decodeTransaction(cbor), cbor };
    const { unspent } = this.tip;
    const isTaken = isValidAt(tx, this.#slot()) && isPossible(tx, unspent);
    if (!isTaken || this.#refusing(tx, unspent).length > 0) return false;
    requireConserved(tx, unspent);
    this.#blocks.push(this.#block(this.tip.height + 1, [tx], applied(tx, unspent)));
    this.#tidy();
    return true;
  }

  /**
   * Somebody puts a transaction whose script fails for them into a block of its own, if they could: it costs
   * an output of the wallet, and returns another.
   *
   * @param others - hashes of all that name the same output for this
   */
  failScript(
    hash: string,
    cost: string,
    returned: { name: string; output: Output },
    others: readonly string[],
  ): void {
    const original = this.#mempool.find((one) => one.hash === hash && !this.#passed.has(hash));
    if (!original || !isPossible(original, this.tip.unspent) || !this.tip.unspent.has(cost)) return;
    const unspent = new Map(this.tip.unspent).set(returned.name, returned.output);
    unspent.delete(cost);
    this.#mempool = this.#mempool.filter((one) => !others.includes(one.hash));
    const cbor = markedInvalid(original.cbor);
    const failed = { ...original, cbor, outputs: [], isValid: false };
    this.#failing.add(hash);
    this.#blocks.push(this.#block(this.tip.height + 1, [failed], unspent));
    this.#tidy();
  }

  /** Somebody pays the address, in a block of its own. */
  fund(address: string, coin: bigint): void {
    const output = { address, value: new Map([["", coin]]) };
    const unspent = new Map(this.tip.unspent).set(`${this.#hash()}#0`, output);
    this.#blocks.push(this.#block(this.tip.height + 1, [], unspent));
  }

  /** Names of outputs that somebody else has spent, by what is in blocks. */
  taken(): string[] {
    return this.#blocks.flatMap(({ taken }) => taken ?? []);
  }

  /**
   * The provider as a process sees it whose every call goes through `step`.
   *
   * @param hasCalls - whether it answers at all
   */
  seenBy(step: <T>(run: () => T) => Promise<T>, hasCalls = true): Provider {
    const notAsked = () => {
      throw new Error("wallets do not ask for this");
    };
    return {
      latestBlock: () =>
        step(() => {
          if (this.isBanned) throw new ProviderError("banned", { status: 418 });
          if (!hasCalls) throw new ProviderError("no calls left for now", { status: 429 });
          return this.tip;
        }),
      block: (height) => step(() => this.#blocks.find((one) => one.height === height) ?? null),
      transaction: (hash) => step(() => this.#transaction(hash)),
      addressUtxos: (address) => step(() => this.#utxos(address)),
      protocolParameters: () => step(() => PROTOCOL_PARAMETERS),
      submit: (cbor) => step(() => this.#submit(cbor)),
      evaluate: (cbor, additional) => step(() => this.#evaluate(cbor, additional)),
      scriptCbor: notAsked,
      scriptRedeemers: notAsked,
      assetHolders: notAsked,
      assetMetadata: notAsked,
      addressFunds: notAsked,
      addressOutputs: notAsked,
      addressTransactions: notAsked,
      transactionCbor: notAsked,
      transactionUtxos: notAsked,
      spenders: (hash) => step(() => this.#spenders(hash)),
    };
  }

  #transaction(hash: string) {
    const has = ({ transactions }: ForgedBlock) => transactions.find((tx) => tx.hash === hash);
    const block = this.shown.find(has);
    if (!block) return null;
    const validContract = has(block)?.isValid ?? true;
    const { height: blockHeight, hash: blockHash, time: blockTime } = block;
    const txIndex = block.transactions.findIndex((tx) => tx.hash === hash);
    return { hash, blockHash, blockHeight, txIndex, blockTime, validContract };
  }

  #spenders(txHash: string): Map<number, string> {
    const spent = this.#blocks.flatMap((block) => [
      ...block.transactions.flatMap(({ hash, inputs }) =>
        inputs.map((input) => [outputName(input), hash] as const),
      ),
      ...(block.taken === undefined ? [] : [[block.taken, block.hash] as const]),
    ]);
    return new Map(
      spent.flatMap(([name, spender]) => {
        const [maker, index] = name.split("#");
        return maker === txHash ? [[Number(index), spender] as const] : [];
      }),
    );
  }

  #utxos(address: string) {
    this.outputsAsked++;
    const at = this.#blocks.at(-1 - this.outputsBehind) ?? this.#blocks[0];
    const unspent = [...(at?.unspent ?? [])].filter(([, output]) => output.address === address);
    return unspent.map(([name, { value }]) => {
      const [txHash = "", index] = name.split("#");
      return {
        address,
        txHash,
        outputIndex: Number(index),
        amount: [...value].map(([unit, quantity]) => ({
          unit: unit === "" ? "lovelace" : unit,
          quantity: String(quantity),
        })),
        inlineDatum: null,
        referenceScriptHash: null,
      };
    });
  }

  /** As a node without a mempool does. */
  #evaluate(cbor: Uint8Array, additional: readonly AdditionalOutput[] = []) {
    const tx = { ...decodeTransaction(cbor), cbor };
    const { inputs, spendRedeemers } = tx;
    const told = additional.map(outputName);
    if (told.some((name) => this.tip.unspent.has(name)))
      throw new NotEvaluated("AdditionalUtxoOverlap", "known already");
    const names = inputs.map(outputName);
    const unknown = names.filter((one) => !this.tip.unspent.has(one) && !told.includes(one));
    if (unknown.length > 0) throw new NotEvaluated("UnknownInput", unknown.join());
    const redeemers = spendRedeemers.map(({ inputIndex }) => `spend:${inputIndex}`);
    const refusing = this.#refusing(tx, this.tip.unspent);
    const failing = redeemers.filter((_, i) =>
      refusing.includes(spendRedeemers[i]?.inputIndex ?? -1),
    );
    if (failing.length > 0) throw new ScriptFailed("no", this.namesFailures ? failing : []);
    return new Map(redeemers.map((name) => [name, { memory: 600_000n, steps: 200_000_000n }]));
  }

  #submit(cbor: Uint8Array): { refused: string } | null {
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
      const missing = tx.inputs.map(outputName).filter((one) => !unspent.has(one));
      return { refused: `BadInputsUTxO ${missing.join()}` };
    }
    if (this.#refusing(tx, unspent).length > 0) return { refused: "PlutusFailure" };
    requireConserved(tx, unspent);
    this.#mempool.push(tx);
    return null;
  }

  #refusing(tx: Sent, unspent: ReadonlyMap<string, Output>): number[] {
    if (this.#failing.has(tx.hash)) return tx.spendRedeemers.map(({ inputIndex }) => inputIndex);
    const locked = tx.inputs.flatMap((one, i) => (this.locked.has(outputName(one)) ? [i] : []));
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
