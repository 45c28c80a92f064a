import type {
  ExecutionUnits,
  ProtocolParameters,
  Provider,
} from "../../chain/provider/provider.ts";
import type {
  Mint,
  ScriptInput,
  TransactionPlan,
  WalletOutput,
} from "../../chain/transaction/transaction-plan.ts";
import type { WalletKeys } from "../../chain/wallet-keys.ts";
import type { Statement } from "../../db/client.ts";
import type { TaskUpdate, WalletTransaction } from "../model/wallet-transaction.ts";

/** Something that a wallet shall do on the chain, as its feature names it. */
export interface Task {
  id: string;
  /** When the network may take it at the earliest, and no longer, epoch milliseconds. */
  notBefore?: number;
  deadline?: number;
  /** Whether a rule of the service requested the task. It pauses while foreign transactions use the wallet's key. */
  isAutomatic?: boolean;
  /** From when on nothing is built for it any more, epoch milliseconds. Default: the deadline. */
  lastStart?: number;
  /** Whether another party may spend the task's input now. */
  isReplaceable?: boolean;
  /** It failed alone: it shares no transaction, and its scripts are measured afresh. */
  isAlone?: boolean;
}

/** A task that cannot be done now, and why. */
export interface TaskFailure {
  task: Task;
  error: unknown;
}

/** What a feature has for the next transaction. */
export interface DueTasks {
  tasks: Task[];
  /** When there will be more, epoch milliseconds; null: nothing waits for its time. */
  nextDueAt: number | null;
  /** Tasks for which the feature's own code threw. The wallet passes them to `onFailure`. */
  failures?: readonly TaskFailure[];
}

/** What a feature puts into a transaction for one task. */
export interface TransactionPart extends Pick<TransactionPlan, "outputs" | "metadata"> {
  scriptInputs: readonly Omit<ScriptInput, "units">[];
  mints: readonly Omit<Mint, "units">[];
  /**
   * The units of each script in a transaction of so many parts, as measured before. Null or no
   * function: the units must be measured.
   */
  getMeasuredUnits?(parts: number): ExecutionUnits | null;
  /** Outputs of the wallet that it has to spend. */
  spends: readonly WalletOutput[];
  /** See `TransactionPlan`. */
  spentScriptBytes?: number;
  /** Parts that a transaction with it has, at the most. */
  maxParts?: number;
  /** Names of which a transaction takes each once, beside its policies, labels and inputs. */
  exclusiveNames?: readonly string[];
  /** What the feature wants to be told again when the transaction moves. */
  detail: Record<string, string | null>;
}

/** What a part has that puts nothing into a transaction. */
export const EMPTY_PART: Omit<TransactionPart, "detail"> = {
  ...{ scriptInputs: [], mints: [], spends: [], outputs: [] },
  metadata: new Map(),
};

/** What a part may be made of. */
export interface BuildContext {
  keys: WalletKeys;
  /** The output of the outward chain, or the parallel output, that the transaction spends. */
  placementOutput: WalletOutput;
  /** All that the wallet can spend. */
  outputs: readonly WalletOutput[];
  /** Slots between which the transaction will be valid; see `TransactionPlan`. */
  validity: TransactionPlan["validity"];
  parameters: ProtocolParameters;
  provider: Provider;
}

/**
 * What a feature has its wallets do. It decides what is due and what goes into a transaction; the
 * wallet puts transactions together, pays, signs, stores, sends and watches them.
 */
export interface WalletFeature {
  /** Names the feature in stored transactions. */
  readonly name: string;
  /**
   * Where its transactions belong. `chained`: only the order in the outward chain keeps a task from being
   * done twice. `parallel`: each task spends an output that only one transaction can spend.
   */
  readonly placement: "chained" | "parallel";
  /** How many of its tasks a transaction may do; the wallet has a default. */
  readonly maxTasks?: number;
  /** The column whose violation says that a record was changed since it was read. */
  readonly revision: `${string}.${string}`;
  /**
   * What may be done now, the most urgent first.
   *
   * @param now - epoch milliseconds
   */
  listDue(now: number, limit: number): Promise<DueTasks>;
  /** Names of outputs of the wallet that something else needs: nothing is built of them. */
  listReservedOutputs?(): Promise<readonly string[]>;
  /**
   * The transaction that does a task, where its bytes stand already, since others have signed them: then
   * nothing is built, and no part asked for. What it throws goes to `onFailure`.
   */
  loadPrebuilt?(task: Task, keys: WalletKeys): Promise<PrebuiltTransaction>;
  /** The part of a transaction that does a task. What it throws goes to `onFailure`. */
  buildPart(task: Task, context: BuildContext): Promise<TransactionPart>;
  /**
   * Selects the outputs that, by the records of these tasks, a foreign transaction in a block has spent. The
   * wallet gives up its transactions that spend them.
   */
  selectForeignSpent?(
    tasks: readonly string[],
    outputs: readonly string[],
  ): Promise<readonly string[]>;
  /**
   * Reads the records of tasks again: those that still ask for what their parts do, whatever else has
   * changed of them. Without it all parts are made anew when a record has changed.
   */
  filterCurrent?(tasks: readonly Task[]): Promise<readonly Task[]>;
  /**
   * Builds the statements that apply updates to records, guarded by the records' revisions. For a `Stored`
   * transaction, the revisions from build time guard records that may have changed.
   *
   * @param updates - of this feature's tasks, and of features with the same `revision`
   */
  onTransaction(updates: readonly TaskUpdate[], now: number): Promise<Statement[]>;
  /**
   * No transaction could be built for these tasks, each for itself, or what one spends is not there: they
   * wait, or have failed. One that is due as before would be tried again at once.
   */
  onFailure(tasks: readonly Task[], error: unknown, now: number): Promise<void>;
  /**
   * The feature could not write what became of the transaction of these tasks. Their records show the
   * message until the wallet has repeated the update; nothing else of them changes.
   *
   * @param message - for people
   */
  onUpdateFailure(tasks: readonly Pick<Task, "id">[], message: string, now: number): Promise<void>;
  /** Whether it has written events, which the dispatcher then sends. */
  hasEvents?(): boolean;
}

/** A transaction that was built before, with all its signatures. */
export interface PrebuiltTransaction {
  cbor: Uint8Array;
  transaction: WalletTransaction;
}
