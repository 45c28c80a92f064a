import { ProviderError } from "../../chain/provider/provider.ts";
import { InsufficientFundsError } from "../../chain/transaction/select-inputs.ts";
import type { ReasonCode } from "../../reason-codes.ts";
import { computePause, MAX_TRIES, nextProviderTry, WAIT_MS } from "./backoff.ts";
import { describeError, EarlierMayLandError, NotYetError, WalletRemovedError } from "./errors.ts";
import type { TaskState } from "./store.ts";

/** The reason of a task or a wallet whose provider fails, for people. */
export const describeProviderFailure = ({ message }: Error): string =>
  `waits for the chain provider: ${message}`;

/** What a task waits for, and until when. */
export interface Wait {
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
export function findWait(error: unknown, now: number): Wait | null {
  if (error instanceof NotYetError)
    return { code: error.code, reason: error.message, dueAt: error.until };
  if (error instanceof ProviderError && !error.permanent)
    return {
      code: "provider",
      reason: describeProviderFailure(error),
      dueAt: nextProviderTry(error.retryAt, now),
    };
  if (error instanceof EarlierMayLandError)
    return {
      code: "chain",
      reason: `waits for the chain: ${error.message}`,
      dueAt: now + WAIT_MS,
    };
  return null;
}

/** What follows from a failed try: the task is tried again, or given up for a reason. */
export type TryOutcome = { task: TaskState } | { givenUp: string };

/**
 * Decides what follows from a failed try. Some errors only delay the task, others count as failed tries, and a
 * missing wallet ends the task.
 *
 * @param attempts - failed tries before
 * @param now - epoch milliseconds
 */
export function decideOutcome(attempts: number, error: unknown, now: number): TryOutcome {
  if (error instanceof WalletRemovedError) return { givenUp: error.message };
  const wait = findWait(error, now);
  if (wait) {
    const { code: reasonCode, reason, dueAt } = wait;
    return { task: { attempts, reasonCode, reason, dueAt } };
  }
  const code = error instanceof InsufficientFundsError ? "funds" : "failing";
  return countFailure(attempts, describeError(error), now, code);
}

/** Counts one more failed try. After the last one the task is given up. */
export function countFailure(
  before: number,
  reason: string,
  now: number,
  reasonCode: ReasonCode = "failing",
): TryOutcome {
  const attempts = before + 1;
  if (attempts >= MAX_TRIES) return { givenUp: reason };
  return { task: { attempts, reasonCode, reason, dueAt: now + computePause(attempts) } };
}
