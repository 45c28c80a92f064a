import type { ChainClock } from "../../chain/chain-time.ts";
import type { Network } from "../../chain/network.ts";
import type { Provider } from "../../chain/provider/provider.ts";
import type { Database } from "../../db/client.ts";
import type { ReasonCode } from "../../reason-codes.ts";
import type { SourceRow } from "../../sources/source-row.ts";
import type { WalletRow } from "../managed/tables.ts";
import type { DueWalletFinder } from "../queue/due-wallets.ts";
import type { WalletFeature } from "../queue/feature.ts";
import type { WaitingTaskLister } from "../queue/waiting-tasks.ts";
import type { OutputView } from "./context/output-view.ts";

/** The next task of a wallet, of any payment source. */
export interface NextTask {
  sourceId: string;
  /** Epoch milliseconds; null: a transaction is pending. */
  dueAt: number | null;
  /** Whether the task needs a new transaction. */
  isWaiting: boolean;
  /** Ends the task, since its payment source was removed. */
  endWithoutSource(): Promise<void>;
}

/** The objects that a wallet's features use in one run. */
export interface FeatureContext {
  /** With `writes: "idempotent"`. */
  database: Database;
  source: SourceRow;
  /** The active wallets of the source. */
  wallets: readonly WalletRow[];
  /** Payment key hash of the wallet, hex. */
  vkey: string;
  /** For tasks with a deadline. */
  deadlineProvider: Pick<Provider, "addressUtxos" | "protocolParameters">;
  /** Outputs of the source's other wallets by key hash, kept between runs. */
  views: Map<string, OutputView>;
  wake(network: Network, vkey: string): Promise<void>;
  /** Steps that run without a request. */
  automaticSteps: { payments: boolean; refunds: boolean };
  /** The time on the chain at a time of the wall clock, both epoch milliseconds. */
  chainTime(now: number): Promise<number>;
}

/** Tasks of a wallet that the service does not do without help. */
export interface StuckTasks {
  /** Payment key hash, hex; null: no wallet is assigned. */
  vkey: string | null;
  /** The payment source of one of the tasks; null: unknown. */
  sourceId: string | null;
  waiting: number;
  /** The reason of one of the tasks, for people. */
  reason: string;
}

/** Tasks without a transaction, by what they wait for. */
export interface WaitingCount {
  feature: string;
  reason: ReasonCode;
  count: number;
  /** Epoch milliseconds. */
  oldest: number;
}

/** The tasks of a feature in the queue of wallets: what routes, cron, health and metrics know of it. */
export interface FeatureQueue {
  listWaitingTasks: WaitingTaskLister;
  /** @param clock - on another chain's clock, every wallet with tasks counts as due */
  findDueWallets(clock: ChainClock): DueWalletFinder;
  findNext(
    database: Database,
    core: Database,
    wallet: { network: Network; vkey: string },
  ): Promise<NextTask | null>;
  /** Loads the transaction library. */
  createFeatures(context: FeatureContext): Promise<readonly WalletFeature[]>;
  countWaiting(database: Database, network: Network, now: number): Promise<WaitingCount[]>;
  listStuck(database: Database, network: Network, now: number): Promise<StuckTasks[]>;
  /** Names of wallet outputs that the feature reserves. */
  listReservedOutputs?(database: Database, network: Network): Promise<ReadonlySet<string>>;
}
