import type { ChainClock } from "../../../chain/chain-time.ts";
import type { Network } from "../../../chain/network.ts";
import type { Block, Provider } from "../../../chain/provider/provider.ts";
import type { ScriptSource } from "../../../chain/transaction/transaction-plan.ts";
import type { WalletKeys } from "../../../chain/wallet-keys.ts";
import type { WalletTransaction } from "../../model/wallet-transaction.ts";
import type { WalletFeature } from "../../queue/feature.ts";
import type {
  EnterResult,
  HighestCounts,
  JournalEntry,
  StaleReadResult,
} from "../model/journal.ts";
import type { WalletDatabase, WalletState } from "../store/wallet.ts";
import type { OutputView } from "./output-view.ts";

/** The network's journal, for one wallet; see `Journal`. */
export interface WalletJournal {
  enter(
    stored: number,
    now: number,
    after: HighestCounts | null,
    each: string,
  ): Promise<EnterResult | StaleReadResult>;
  append(
    transaction: JournalEntry,
    stored: number,
    now: number,
    after: HighestCounts | null,
    each: string,
  ): Promise<boolean | StaleReadResult>;
  resume(stored: number, each: string): Promise<void>;
  markRestored(hashes: readonly string[], stored: number): Promise<void>;
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
  areSourcesSynced(since: number): Promise<boolean>;
  provider: Provider;
  /** The same for tasks with a deadline, for which the last of its calls may be made. */
  deadlineProvider: Provider;
  /** Kept from run to run. */
  view: OutputView;
  /** What the wallet does, the most urgent first. */
  features: readonly WalletFeature[];
  /** Opens the wallet's keys; called only when there is something to sign. */
  openKeys(): Promise<WalletKeys>;
  /** Scripts that transactions can read from outputs on the chain instead of holding them, by hash. */
  listPublishedScripts(): Promise<ReadonlyMap<string, ScriptSource>>;
  /** Told which outputs with published scripts, by their names, a node does not know. @throws StaleWalletError */
  onMissingScripts(outputs: readonly string[]): Promise<void>;
  /**
   * Has payment sources read at once, since transactions sent through them count by now. Never throws.
   *
   * @param tip - where this source's provider is, if it was asked just now
   */
  onConfirmed(sourceIds: ReadonlySet<string>, tip: Block | null): Promise<void>;
  /** Confirmations a transaction needs before it counts, at least 1. */
  confirmationThreshold: number;
  clock: ChainClock;
  /** Epoch milliseconds. */
  now(): number;
  /** A new id, made at a time in epoch milliseconds. */
  newId(now: number): string;
  requestId: string;
}

/** A wallet in the middle of a run. */
export interface WalletRun {
  wallet: WalletState;
  /** All transactions that are not final, in the order in which they were stored. */
  openTransactions: WalletTransaction[];
  /** Final ones of which not all records say yet what became of them. */
  unsettledTransactions: readonly WalletTransaction[];
}
