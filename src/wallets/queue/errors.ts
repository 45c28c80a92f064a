/** What can go wrong with a wallet's tasks. Messages are for people. */

import type { ReasonCode } from "../../reason-codes.ts";
import { TaskError } from "../../task-error.ts";

/** The wallet, or one of its records, has changed since it was read. The caller reads it again. */
export class StaleWalletError extends Error {
  override name: string = "StaleWalletError";
}

/** A record of a task was changed since it was read, and the wallet was not moved. */
export class RecordChangedError extends StaleWalletError {
  override name = "RecordChangedError";
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
export function describeError(error: unknown): string {
  return error instanceof Error ? error.message : new InternalError(error).message;
}

/** The wallet that should sign is no longer managed. */
export class WalletRemovedError extends TaskError {
  override name = "WalletRemovedError";
}

/** A task's former transaction may still land, and excludes no other one. */
export class PriorTransactionPendingError extends TaskError {
  override name = "PriorTransactionPendingError";
}

/** The outward chain continues, or begins anew, only when the wallet's earlier transactions are final. */
export class OutwardChainPendingError extends PriorTransactionPendingError {
  override name = "OutwardChainPendingError";
}

/** A node does not have what a task's part spends. */
export class MissingInputError extends TaskError {
  override name = "MissingInputError";
}

/** The network cannot take it any more. */
export class DeadlinePassedError extends TaskError {
  override name = "DeadlinePassedError";
}

/** Nothing is built before a time, epoch milliseconds. */
export class RetryLaterError extends TaskError {
  override name = "RetryLaterError";
  readonly retryAt: number;
  readonly code: ReasonCode;

  constructor(message: string, until: number, code: ReasonCode = "chain") {
    super(message);
    this.retryAt = until;
    this.code = code;
  }
}
