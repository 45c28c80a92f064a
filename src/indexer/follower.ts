import type { Block, TransactionPosition } from "../chain/provider/provider.ts";
import type { Database, Statement } from "../db/client.ts";
import type { LogEvent } from "../log-events.ts";
import type { BlockProvider, Checkpoint } from "./checkpoints.ts";
import type { Cursor, FollowerTables } from "./cursor.ts";
import type { PositionedTransaction } from "./find-fork.ts";
import type { Position } from "./position.ts";

/** What a pass works with. */
export interface PassContext {
  db: Database;
  provider: BlockProvider;
  /** Confirmations a transaction needs before it is applied, the tip itself being one; at least 1. */
  threshold: number;
  /** Epoch milliseconds. */
  now(): number;
  /**
   * Called before anything is undone, with the newest checkpoint that the provider no longer has.
   *
   * @throws ProviderError when nothing must be undone on this provider's word
   */
  confirmRollback?(lost: Checkpoint, tip: Block): Promise<void>;
  /** Called after each commit of transactions, to wake those who wait for it. */
  onCommit(): Promise<void>;
}

/**
 * What follows an address or a policy on the chain, through the functions of this folder. `runPass`
 * calls its functions in turn. `Listed` is a transaction as it is listed, and `Read` a transaction that
 * was read. `Changes` are the changes of records by a run of transactions, folded in memory until they
 * are written.
 */
export interface Follower<P extends Position, Listed, Read, Changes> extends PassContext {
  tables: FollowerTables;
  cursor: Cursor<P>;
  /** Transactions read before they are applied. */
  maxReads: number;
  /** Transactions read at once: an invocation has six connections, and D1 needs one. */
  parallelReads: number;
  /** The log's event of a rollback. */
  rollbackEvent: LogEvent;

  /** The transactions to apply after those that are done, in chain order; see `listPendingTransactions`. */
  list(recent: P[], tip: Block): Promise<Listed[]>;
  /** @throws ProviderError, ProviderBehindError */
  read(listed: Listed): Promise<Read>;
  positionOf(read: Read): P;
  /** The block of a transaction that was read. @throws ProviderBehindError when it is not there any more */
  blockOf(read: Read): Promise<TransactionPosition>;

  /** An empty change set of the records, as they are now, that some transactions may touch. */
  load(reads: Read[], tip: Block): Promise<Changes>;
  /**
   * Folds a transaction into the changes.
   *
   * @param deadline - epoch milliseconds; null: none, for the first of a run
   * @returns false when the next run must apply the transaction; the changes are as before
   */
  apply(changes: Changes, read: Read, deadline: number | null): Promise<boolean>;
  /** Whether the changes fill a batch. */
  isFull(changes: Changes): boolean;
  /**
   * Writes changes, the cursor and `more` in one batch; see `commit` in `cursor.ts`.
   *
   * @param done - the applied transactions; none when transactions are undone
   * @throws StaleCursorError, StaleRecordError
   */
  commit(changes: Changes, recent: P[], more: Statement[], done: Read[]): Promise<void>;
  /** What is written of the tip that a pass works with. */
  recordTip(tip: Block): Statement[];

  /** The transactions above a checkpoint (null: all), as the provider lists them now, in chain order. */
  listAbove(checkpoint: Checkpoint | null): AsyncIterable<PositionedTransaction<P>>;
  /** The position of a checkpoint's transaction; null when a listing cannot begin there. */
  positionAt(checkpoint: Checkpoint): P | null;
  /** Undoes the newest steps above a height, as many as fit a batch. */
  undo(above: number, tip: Block): Promise<UndoneSteps<Changes>>;
}

/** Steps undone in memory, not written yet. */
export interface UndoneSteps<Changes> {
  changes: Changes;
  statements: Statement[];
  /** Whether there are no more. */
  isLast: boolean;
}
