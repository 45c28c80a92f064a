import { ProviderError } from "../../chain/provider/provider.ts";
import { InsufficientFundsError } from "../../chain/transaction/select-inputs.ts";
import type { ReasonCode } from "../../reason-codes.ts";
import type { WalletTransaction } from "../model/wallet-transaction.ts";
import {
  computeProviderRetryAt,
  computeRetryDelay,
  MAX_ATTEMPTS,
  RETRY_DELAY_MS,
} from "./backoff.ts";
import {
  describeError,
  PriorTransactionPendingError,
  RetryLaterError,
  WalletRemovedError,
} from "./errors.ts";
import { createQueuedState, type TaskState } from "./store.ts";

/** The reason of a task or a wallet whose provider fails, for people. */
export const describeProviderFailure = ({ message }: Error): string =>
  `waits for the chain provider: ${message}`;

/** What a task waits for, and until when. */
export interface TaskDelay {
  code: ReasonCode;
  reason: string;
  /** Epoch milliseconds. */
  dueAt: number;
}

/**
 * Finds how long a task waits after an external failure. Null: the try counts as failed.
 *
 * @param now - epoch milliseconds
 */
export function findTaskDelay(error: unknown, now: number): TaskDelay | null {
  if (error instanceof RetryLaterError)
    return { code: error.code, reason: error.message, dueAt: error.retryAt };
  if (error instanceof ProviderError && !error.permanent)
    return {
      code: "provider",
      reason: describeProviderFailure(error),
      dueAt: computeProviderRetryAt(error.retryAt, now),
    };
  if (error instanceof PriorTransactionPendingError)
    return {
      code: "chain",
      reason: `waits for the chain: ${error.message}`,
      dueAt: now + RETRY_DELAY_MS,
    };
  return null;
}

/** What follows from a failed try: the task is tried again, or given up for a reason. */
export type AttemptOutcome = { task: TaskState } | { givenUp: string };

/**
 * Decides what follows from a failed try. Some errors only delay the task, others count as failed tries, and a
 * missing wallet ends the task.
 *
 * @param attempts - failed tries before
 * @param now - epoch milliseconds
 */
export function decideAttemptOutcome(
  attempts: number,
  error: unknown,
  now: number,
): AttemptOutcome {
  if (error instanceof WalletRemovedError) return { givenUp: error.message };
  const wait = findTaskDelay(error, now);
  if (wait) {
    const { code: reasonCode, reason, dueAt } = wait;
    return { task: { attempts, reasonCode, reason, dueAt } };
  }
  const code = error instanceof InsufficientFundsError ? "funds" : "failing";
  return countFailure(attempts, describeError(error), now, code);
}

export const NOT_ACCEPTED_REASON = "the network did not accept the transaction";

/**
 * Decides what follows for a task whose transaction has ended.
 *
 * @param attempts - failed tries before
 * @param now - epoch milliseconds
 */
export function decideEndOutcome(
  attempts: number,
  { phase, error }: Pick<WalletTransaction, "phase" | "error">,
  now: number,
): AttemptOutcome {
  // The transaction before it in the outward chain ended, which is no failure of this one.
  if (phase === "Orphaned") return { task: { ...createQueuedState(now), attempts } };
  return countFailure(attempts, error ?? NOT_ACCEPTED_REASON, now);
}

/** Counts one more failed try. After the last one the task is given up. */
export function countFailure(
  before: number,
  reason: string,
  now: number,
  reasonCode: ReasonCode = "failing",
): AttemptOutcome {
  const attempts = before + 1;
  if (attempts >= MAX_ATTEMPTS) return { givenUp: reason };
  return { task: { attempts, reasonCode, reason, dueAt: now + computeRetryDelay(attempts) } };
}
