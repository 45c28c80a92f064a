import type { Value } from "../../chain/transaction/value.ts";
import type { TransactionPhase } from "./phases.ts";

/** A wallet's transaction from the moment it is stored. */
export interface WalletTransaction {
  /** Hex. */
  hash: string;
  phase: TransactionPhase;
  /** In the order in which the wallet stored them, from 1. */
  sequence: number;
  /** Of the payment source whose provider it was sent through first. */
  sourceId: string;
  /** What it does, for which features. */
  tasks: readonly StoredTask[];
  /** Names of all outputs that it spends. */
  inputs: readonly string[];
  /** Names of outputs that it reads scripts from; none where it is left out. */
  reads?: readonly string[];
  /** The wallet's own outputs that it makes. */
  made: readonly OwnOutput[];
  /** The output of the outward chain that it spends; null where it spends a parallel output. */
  chainedInput: string | null;
  /** Its change, with which the outward chain or the parallel output continues. */
  changeOutput: string | null;
  /** Whether, at build time, another party could spend an input. */
  isReplaceable: boolean;
  /** What a failed script costs; null where none runs. */
  collateral: StoredCollateral | null;
  /** Slots; `validTo` is the first in which it is no longer valid. */
  validFrom: number;
  validTo: number;
  /** Native minor units. */
  fee: bigint;
  /** Bytes. */
  size: number;
  /** Units of memory that its scripts may use. */
  memory: number;
  /** Of its block, and null again when that is gone. */
  blockHeight: number | null;
  blockHash: string | null;
  /** Unix seconds. */
  blockTime: number | null;
  /** Height of the tip when its validity was first seen to be over. */
  overHeight: number | null;
  /** Why it ended, for people. */
  error: string | null;
  /** When it came to this phase, epoch milliseconds. */
  movedAt: number;
  /** Those of its tasks whose records do not say yet what became of it; left out: none. */
  failedUpdates?: readonly FailedUpdate[];
}

/** A record update that threw, and is repeated. */
export interface FailedUpdate extends Pick<StoredTask, "feature" | "id"> {
  failures: number;
  /** Epoch milliseconds. */
  tryAt: number;
}

/** What is known of a transaction before the chain shows anything of it. */
export const UNSEEN_FIELDS = {
  blockHeight: null,
  blockHash: null,
  blockTime: null,
  overHeight: null,
  error: null,
};

/** A task as a transaction keeps it. */
export interface StoredTask {
  /** The feature's name. */
  feature: string;
  id: string;
  /** What the feature wants to know of it when it lands. */
  detail: Record<string, string | null>;
}

export interface OwnOutput {
  index: number;
  value: Value;
}

export interface StoredCollateral {
  /** Names of the outputs. */
  inputs: readonly string[];
  /** What returns of them: an output of the wallet that is made only when a script fails. */
  returned: OwnOutput;
}

/** What became of a task: the transaction that does it, or the last that did not. */
export interface TaskUpdate {
  task: StoredTask;
  transaction: WalletTransaction;
}

/** Names a task among those of all features. */
export const toTaskKey = ({ feature, id }: Pick<StoredTask, "feature" | "id">): string =>
  `${feature}:${id}`;

/** The transaction that makes an output, by the output's name. */
export const txHashOf = (output: string): string => output.slice(0, output.indexOf("#"));
