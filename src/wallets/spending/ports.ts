import type { ChainClock } from "../../chain/chain-time.ts";
import type { WalletKeys } from "../../chain/keys.ts";
import type { Network } from "../../chain/network.ts";
import type { Block, Provider } from "../../chain/provider/provider.ts";
import type { ScriptSource } from "../../chain/transaction/plan.ts";
import type { WalletWork } from "../work.ts";
import type { Entry, Handed, Highest, ReadAgain } from "./journal.ts";
import type { OutputView } from "./outputs.ts";
import type { WalletDatabase, WalletState } from "./stored/wallet.ts";
import type { WalletTransaction } from "./transaction.ts";

/** The network's journal, for one wallet; see `Journal`. */
export interface WalletJournal {
  enter(
    stored: number,
    now: number,
    after: Highest | null,
    each: string,
  ): Promise<Entry | ReadAgain>;
  hand(
    transaction: Handed,
    stored: number,
    now: number,
    after: Highest | null,
    each: string,
  ): Promise<boolean | ReadAgain>;
  resume(stored: number, each: string): Promise<void>;
  remembered(hashes: readonly string[], stored: number): Promise<void>;
}

/** Everything that a wallet's run reaches beyond itself. */
export interface WalletPorts {
  network: Network;
  /** Payment key hash, hex. */
  vkey: string;
  /** Of the payment source whose provider is used. */
  sourceId: string;
  /** With `writes: "idempotent"`. */
  db: WalletDatabase;
  journal: WalletJournal;
  /** Whether all sources of the network have followed the chain up to its tip since a time, epoch milliseconds. */
  hasFollowed(since: number): Promise<boolean>;
  provider: Provider;
  /** The same for tasks with a deadline, for which the last of its calls may be made. */
  deadlineProvider: Provider;
  /** Kept from run to run. */
  view: OutputView;
  /** What the wallet does, the most urgent first. */
  works: readonly WalletWork[];
  /** Opens the wallet's keys; called only when there is something to sign. */
  keys(): Promise<WalletKeys>;
  /** Scripts that transactions can read from outputs on the chain instead of holding them, by hash. */
  published(): Promise<ReadonlyMap<string, ScriptSource>>;
  /** Told which outputs with published scripts, by their names, a node does not know. @throws StaleWallet */
  scriptsMissed(outputs: readonly string[]): Promise<void>;
  /**
   * Has payment sources read at once, since transactions sent through them count by now. Never throws.
   *
   * @param tip - where this source's provider is, if it was asked just now
   */
  confirmed(sourceIds: ReadonlySet<string>, tip: Block | null): Promise<void>;
  /** Confirmations a transaction needs before it counts, at least 1. */
  threshold: number;
  clock: ChainClock;
  /** Epoch milliseconds. */
  now(): number;
  /** A new id, made at a time in epoch milliseconds. */
  newId(now: number): string;
  requestId: string;
}

/** A wallet in the middle of a run. */
export interface Run {
  wallet: WalletState;
  /** All transactions that are not final, in the order in which they were stored. */
  open: WalletTransaction[];
  /** Final ones of which not all records say yet what became of them. */
  late: readonly WalletTransaction[];
}
