import { InternalError, StaleWalletError } from "./errors.ts";
/**
 * What one task throws ends in that task. A feature's own code runs for many tasks of a wallet at once.
 * These functions find the tasks for which it throws. The wallet does the others in the same run.
 */

import { ProviderError, ScriptFailedError } from "../../chain/provider/provider.ts";
import { truncateMessage } from "../../chain/provider/request.ts";
import { TransactionTooLargeError } from "../../chain/transaction/build-transaction.ts";
import { InsufficientFundsError } from "../../chain/transaction/select-inputs.ts";
import { isDatabaseFault } from "../../db/client.ts";
import { log } from "../../log.ts";
import { TaskError } from "../../task-error.ts";

/** Whether an error has nothing to do with what was asked of the provider. */
export function isProviderDown(error: unknown): boolean {
  return error instanceof ProviderError && !error.permanent;
}

/**
 * Whether an error is no task's fault: the database or the provider fails, or a record was changed since it
 * was read. Query builders put such an error into one of their own, as its `cause`.
 */
export function isTransientError(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const isOne =
    error instanceof StaleWalletError || isProviderDown(error) || isDatabaseFault(error);
  return isOne || isTransientError(error.cause);
}

const EXPECTED_ERRORS = [
  TaskError,
  ProviderError,
  ScriptFailedError,
  TransactionTooLargeError,
  InsufficientFundsError,
];

/** Whether features know what an error means for its task, and its message is for people. */
export function isExpectedError(error: unknown): boolean {
  return EXPECTED_ERRORS.some((kind) => error instanceof kind);
}

/** Where a task failed, for the log. */
export interface FailureContext {
  /** Payment key hash, hex; of a rule the wallet's id. */
  wallet: string;
  requestId: string;
  /** The feature's name. */
  feature: string;
  tasks: readonly string[];
}

/** The error that a feature gets for a task that threw. Of one that nobody expects the log has the details. */
export function toTaskError(error: unknown, place: FailureContext): unknown {
  if (isExpectedError(error)) return error;
  logFailure(error, place);
  return new InternalError(error);
}

/** Logs an error of the service's own code, without the parameters of a query that threw it. */
export function logFailure(error: unknown, place: FailureContext): void {
  const { cause } = error instanceof Error ? error : {};
  const detail = truncateMessage(String(cause instanceof Error ? cause : error));
  log("error", "wallet.task_failed", { ...place, error: detail });
}

/** An item of several, and the error for it. */
export interface ItemError<Item> {
  item: Item;
  error: unknown;
}

/**
 * Computes something of all items but those for which that throws.
 *
 * @param compute - may be called several times
 * @returns null: it throws for every item
 * @throws transient errors
 */
export async function isolateFailures<Item, Result>(
  items: readonly Item[],
  compute: (items: readonly Item[]) => Promise<Result>,
): Promise<{ result: Result | null; errors: ItemError<Item>[] }> {
  const [all] = await attempt(items, compute);
  if (all) return { result: all.result, errors: [] };
  const errors: ItemError<Item>[] = [];
  for (const item of items) {
    const [, error] = await attempt([item], compute);
    if (error) errors.push({ item, error: error.cause });
  }
  const others = items.filter((item) => !errors.some((one) => one.item === item));
  const [rest, error] = others.length > 0 ? await attempt(others, compute) : [];
  // They throw together, and not alone: nobody knows which of them it is.
  if (error) errors.push(...others.map((item) => ({ item, error: error.cause })));
  return { result: rest?.result ?? null, errors };
}

/**
 * Acts on all items together, or on each alone where that throws.
 *
 * @param act - takes effect for all of its items or for none
 * @throws transient errors
 */
export async function forEachIsolated<Item>(
  items: readonly Item[],
  act: (items: readonly Item[]) => Promise<void>,
): Promise<ItemError<Item>[]> {
  const [, error] = await attempt(items, act);
  if (!error) return [];
  if (items.length <= 1) return items.map((item) => ({ item, error: error.cause }));
  const errors: ItemError<Item>[] = [];
  for (const item of items) errors.push(...(await forEachIsolated([item], act)));
  return errors;
}

/** What a function returns for each item, and the items for which it throws. */
export function mapIsolated<Item, Result>(
  items: readonly Item[],
  map: (item: Item) => Result,
): { results: { item: Item; result: Result }[]; errors: ItemError<Item>[] } {
  const results: { item: Item; result: Result }[] = [];
  const errors: ItemError<Item>[] = [];
  for (const item of items) {
    try {
      results.push({ item, result: map(item) });
    } catch (error) {
      errors.push({ item, error });
    }
  }
  return { results, errors };
}

type AttemptResult<Result> = [{ result: Result }] | [null, { cause: unknown }];

async function attempt<Item, Result>(
  items: readonly Item[],
  run: (items: readonly Item[]) => Promise<Result>,
): Promise<AttemptResult<Result>> {
  try {
    return [{ result: await run(items) }];
  } catch (error) {
    if (isTransientError(error)) throw error;
    return [null, { cause: error }];
  }
}
