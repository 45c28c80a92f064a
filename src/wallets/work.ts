import type { WalletKeys } from "../chain/keys.ts";
import type { ExecutionUnits, ProtocolParameters, Provider } from "../chain/provider/provider.ts";
import type {
  Mint,
  ScriptInput,
  TransactionPlan,
  WalletOutput,
} from "../chain/transaction/plan.ts";
import type { Statement } from "../db/client.ts";
import type { Move } from "./spending/history.ts";
import type { WalletTransaction } from "./spending/transaction.ts";

/** Something that a wallet shall do on the chain, as its feature names it. */
export interface Task {
  id: string;
  /** When the network may take it at the earliest, and no longer, epoch milliseconds. */
  begins?: number;
  deadline?: number;
  /** A rule of the service asked for it, and nobody: it waits while somebody else uses the wallet's key. */
  isAutomatic?: boolean;
  /** From when on nothing is built for it any more, epoch milliseconds. Default: the deadline. */
  lastStart?: number;
  /** Somebody else may spend what it spends at this time. */
  canBeOvertaken?: boolean;
  /** It failed alone: it shares no transaction, and its scripts are measured afresh. */
  isAlone?: boolean;
}

/** A task that cannot be done now, and why. */
export interface Failure {
  task: Task;
  error: unknown;
}

/** What a feature has for the next transaction. */
export interface DueTasks {
  tasks: Task[];
  /** When there will be more, epoch milliseconds; null: nothing waits for its time. */
  next: number | null;
  /** Tasks for which the feature's own code threw. The wallet passes them to `notBuilt`. */
  failures?: readonly Failure[];
}

/** What a feature puts into a transaction for one task. */
export interface TransactionPart extends Pick<TransactionPlan, "outputs" | "metadata"> {
  scriptInputs: readonly Omit<ScriptInput, "units">[];
  mints: readonly Omit<Mint, "units">[];
  /**
   * What each of its scripts uses in a transaction of so many parts, as it was measured before; null, or
   * no function at all: it has to be measured.
   */
  unitsAmong?(parts: number): ExecutionUnits | null;
  /** Outputs of the wallet that it has to spend. */
  spends: readonly WalletOutput[];
  /** See `TransactionPlan`. */
  spentScriptBytes?: number;
  /** Parts that a transaction with it has, at the most. */
  most?: number;
  /** Names of which a transaction takes each once, beside its policies, labels and inputs. */
  alone?: readonly string[];
  /** What the feature wants to be told again when the transaction moves. */
  detail: Record<string, string | null>;
}

/** What a part may be made of. */
export interface Stand {
  keys: WalletKeys;
  /** The output of the line that the transaction spends. */
  line: WalletOutput;
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
export interface WalletWork {
  /** Names the feature in stored transactions. */
  readonly name: string;
  /**
   * Where its tasks stand. `line`: nothing but the wallet keeps them from being done twice. `lanes`: each
   * spends an output that only one transaction can spend, whichever that is.
   */
  readonly stands: "line" | "lanes";
  /** How many of its tasks a transaction may do; the wallet has a default. */
  readonly most?: number;
  /** The column whose violation says that a record was changed since it was read. */
  readonly revision: `${string}.${string}`;
  /** Transactions of a version of the service before wallets kept them; each is told once. */
  takenOver(): Promise<TakenOver[]>;
  /**
   * What may be done now, the most urgent first.
   *
   * @param now - epoch milliseconds
   */
  due(now: number, limit: number): Promise<DueTasks>;
  /** Names of outputs of the wallet that something else needs: nothing is built of them. */
  setAside?(): Promise<readonly string[]>;
  /**
   * The transaction that does a task, where its bytes stand already, since others have signed them: then
   * nothing is built, and no part asked for. What it throws goes to `notBuilt`.
   */
  prepared?(task: Task, keys: WalletKeys): Promise<PreparedTransaction>;
  /** The part of a transaction that does a task. What it throws goes to `notBuilt`. */
  part(task: Task, stand: Stand): Promise<TransactionPart>;
  /**
   * Those of some outputs, by their names, that another one's transaction in a block has spent, as far as
   * the records of these tasks know, by their ids: what spends them too is given up at once.
   */
  spentByOthers?(tasks: readonly string[], outputs: readonly string[]): Promise<readonly string[]>;
  /**
   * Reads the records of tasks again: those that still ask for what their parts do, whatever else has
   * changed of them. Without it all parts are made anew when a record has changed.
   */
  unchanged?(tasks: readonly Task[]): Promise<readonly Task[]>;
  /**
   * Statements that tell the records what became of their tasks, guarded by their revisions. Where a record
   * may ask for something else by now, those of a transaction that is `Stored` are guarded by the
   * revisions of which its parts were made, so that the batch fails.
   *
   * @param moves - of its own tasks, and of those of works with the same `revision`
   */
  moved(moves: readonly Move[], now: number): Promise<Statement[]>;
  /**
   * No transaction could be built for these tasks, each for itself, or what one spends is not there: they
   * wait, or have failed. One that is due as before would be tried again at once.
   */
  notBuilt(tasks: readonly Task[], error: unknown, now: number): Promise<void>;
  /**
   * The feature could not write what became of the transaction of these tasks. Their records show the
   * message until the wallet has repeated the update; nothing else of them changes.
   *
   * @param message - for people
   */
  onUpdateFailure(tasks: readonly Pick<Task, "id">[], message: string, now: number): Promise<void>;
}

/** A transaction that was built before, with all its signatures. */
export interface PreparedTransaction {
  cbor: Uint8Array;
  transaction: WalletTransaction;
}

/** A transaction with its bytes, if they are still known. */
export type TakenOver = Omit<WalletTransaction, "sequence"> & { cbor: Uint8Array | null };

/** A task cannot be done, now or ever, for a reason that its feature knows. The message is for people. */
export class TaskError extends Error {
  override name = "TaskError";
}

/** The service's own code threw for a task. The message is for people, and the log has the cause. */
export class InternalError extends TaskError {
  override name = "InternalError";

  constructor(cause: unknown) {
    super(
      "An internal error stopped this task. The service tries it again; if that does not help, report it with the service's log.",
      { cause },
    );
  }
}

/** What an error that the wallet passes to a feature says to people. Of an unexpected one nothing is shown. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : new InternalError(error).message;
}

/** The wallet that should sign is no longer managed. */
export class WalletGone extends TaskError {
  override name = "WalletGone";
}

/** A task's former transaction may still land, and excludes no other one. */
export class FormerMayLand extends TaskError {
  override name = "FormerMayLand";
}

/** The wallet's line goes on, or begins anew, only when its earlier transactions are final. */
export class LineWaits extends FormerMayLand {
  override name = "LineWaits";
}

/** A node does not have what a task's part spends. */
export class InputMissing extends TaskError {
  override name = "InputMissing";
}
