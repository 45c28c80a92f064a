import type { OnChainState } from "../../../src/chain/network.ts";
import type {
  AddressTransaction,
  Block,
  Provider,
  TransactionPosition,
} from "../../../src/chain/provider/provider.ts";
import type { EscrowRecord } from "../../../src/escrow/model/escrow-record.ts";
import type { ChangeSet } from "../../../src/escrow/store/change-set.ts";
import type { ContractTransaction } from "../../../src/escrow/sync/escrow-source.ts";
import { toPosition } from "../../../src/escrow/sync/list-contract-transactions.ts";
import { comparePositions, isAfter, type Position } from "../../../src/indexer/position.ts";
import { stepTo } from "../../support/sources/records.ts";

/** What a transaction makes of an escrow, which its first one creates. */
export interface EscrowStep {
  /** The record as it is before the first one. */
  record: EscrowRecord;
  onChainState: OnChainState;
}

interface StepTransaction extends EscrowStep {
  txHash: string;
  blockHeight: number;
  txIndex: number;
}

const GENESIS = 100;
/** Unix seconds. */
const GENESIS_TIME = 1_750_000_000;
const BLOCK_SECONDS = 20;

const timeOf = (height: number) => GENESIS_TIME + height * BLOCK_SECONDS;

/** A chain whose transactions make steps of escrows, without their bytes. Most of its blocks are empty. */
export class StepChain {
  #height = GENESIS;
  /** In the order of the chain. */
  #transactions: StepTransaction[] = [];
  /** Each rollback makes other blocks from a height on. */
  readonly #forks: { from: number }[] = [];
  #made = 0;

  get tip(): Block {
    return this.#blockAt(this.#height);
  }

  #blockAt(height: number): Block {
    const [hash, previousHash] = [this.#hashOf(height), this.#hashOf(height - 1)];
    return { height, hash, previousHash, slot: timeOf(height), time: timeOf(height) };
  }

  /** Adds a block with a transaction for each step. */
  add(steps: readonly EscrowStep[]): void {
    this.#height++;
    this.#include(
      steps.map((step) => ({ ...step, txHash: toHash(`transaction ${++this.#made}`) })),
    );
  }

  /** Adds empty blocks. */
  grow(blocks: number): void {
    this.#height += blocks;
  }

  /**
   * Replaces the newest blocks with others, and adds one that has some of their transactions.
   *
   * @param isKept - by the transaction's index among those that were replaced
   */
  replace(blocks: number, isKept: (index: number) => boolean): void {
    const from = Math.max(this.#height - blocks + 1, GENESIS + 1);
    const replaced = this.#transactions.filter(({ blockHeight }) => blockHeight >= from);
    this.#transactions = this.#transactions.filter(({ blockHeight }) => blockHeight < from);
    this.#forks.push({ from });
    this.#height++;
    this.#include(replaced.filter((_, i) => isKept(i)));
  }

  #include(transactions: readonly (EscrowStep & { txHash: string })[]): void {
    for (const [txIndex, one] of transactions.entries())
      this.#transactions.push({ ...one, blockHeight: this.#height, txIndex });
  }

  #hashOf(height: number): string {
    const fork = this.#forks.findLastIndex(({ from }) => from <= height);
    return toHash(`block ${height} of ${fork}`);
  }

  /** Only what the follower asks for itself. */
  get provider(): Provider {
    const shown: Pick<Provider, "block" | "transaction"> = {
      block: async (at) => {
        const height = Number(at);
        return height > this.#height ? null : this.#blockAt(height);
      },
      transaction: async (hash) => {
        const found = this.#transactions.find(({ txHash }) => txHash === hash);
        return found ? this.#placeOf(found) : null;
      },
    };
    return shown as Provider;
  }

  #placeOf({ txHash: hash, blockHeight, txIndex }: StepTransaction): TransactionPosition {
    const blockHash = this.#hashOf(blockHeight);
    const blockTime = timeOf(blockHeight);
    return { hash, blockHash, blockHeight, txIndex, blockTime, validContract: true };
  }

  #atOf({ txHash, blockHeight, txIndex }: StepTransaction): AddressTransaction {
    return { txHash, blockHeight, txIndex, blockTime: timeOf(blockHeight) };
  }

  /** The transactions after a position, in order. */
  list(after: Position | null): AddressTransaction[] {
    return this.#transactions
      .map((one) => this.#atOf(one))
      .filter((at) => isAfter(toPosition(at), after))
      .sort((a, b) => comparePositions(toPosition(a), toPosition(b)));
  }

  /** A transaction as far as the follower finds stored records by it. */
  read(at: AddressTransaction): ContractTransaction {
    const { identifierHash, terms } = this.#find(at).record;
    const { sellerVkey, buyerVkey, agentIdentifier } = terms;
    const read = {
      at,
      tx: { hash: at.txHash, isValid: true, spendRedeemers: [], inputs: [] },
      outputs: [{ identifierHash, datum: { sellerVkey, buyerVkey, agentIdentifier } }],
    };
    return read as unknown as ContractTransaction;
  }

  /** The block of a transaction. */
  blockOf({ at }: ContractTransaction): TransactionPosition {
    return this.#placeOf(this.#find(at));
  }

  /** Moves the record of a transaction. */
  apply(changes: ChangeSet, { at }: ContractTransaction): void {
    const { record, onChainState } = this.#find(at);
    const { side, identifierHash } = record;
    const stored = changes.findByIdentifier(side, identifierHash) ?? structuredClone(record);
    // The result names the transaction.
    const step = stepTo(stored, { onChainState, resultHash: at.txHash });
    changes.advance(stored, step, at, "170000");
  }

  #find({ txHash }: AddressTransaction): StepTransaction {
    const found = this.#transactions.find((one) => one.txHash === txHash);
    if (!found) throw new Error(`the chain has no transaction ${txHash}`);
    return found;
  }
}

/** 32 bytes that say what they are of, hex. */
function toHash(name: string): string {
  const bytes = new TextEncoder().encode(name);
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0"))
    .join("")
    .padEnd(64, "0")
    .slice(0, 64);
}
