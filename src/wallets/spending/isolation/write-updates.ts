/**
 * What records are to say of a wallet's transactions. An update that throws holds up no other update. Its
 * transaction keeps the task, and the wallet repeats the update after growing pauses.
 */
import type { Statement } from "../../../db/client.ts";
import type { TaskUpdate } from "../../model/wallet-transaction.ts";
import {
  type FailedUpdate,
  toTaskKey,
  type WalletTransaction,
} from "../../model/wallet-transaction.ts";
import { computeRetryDelay } from "../../queue/backoff.ts";
import type { WalletFeature } from "../../queue/feature.ts";
import {
  forEachIsolated,
  type ItemError,
  isolateFailures,
  isTransientError,
  logFailure,
} from "../../queue/isolate-failures.ts";
import type { WalletPorts } from "../context/wallet-ports.ts";

const UPDATE_FAILED_MESSAGE =
  "An internal error keeps this record from showing what became of its transaction. The service tries again; if that does not help, report it with the service's log.";

/**
 * Statements of each feature for the moves of its tasks, and the moves for which that threw. Features that
 * share records are asked as one, since the batch may write a record once.
 *
 * @throws transient errors
 */
export async function collectUpdates(
  { features }: Pick<WalletPorts, "features">,
  updates: readonly TaskUpdate[],
  now: number,
): Promise<{ statements: Statement[]; errors: ItemError<TaskUpdate>[] }> {
  const sharing = [...Map.groupBy(features, ({ revision }) => revision).values()];
  const found = await Promise.all(
    sharing.map((group) => {
      const names = group.map(({ name }) => name);
      const theirs = updates.filter(({ task }) => names.includes(task.feature));
      if (theirs.length === 0) return { result: [], errors: [] };
      return isolateFailures(
        theirs,
        async (some) => (await group[0]?.onTransaction(some, now)) ?? [],
      );
    }),
  );
  return {
    statements: found.flatMap(({ result }) => result ?? []),
    errors: found.flatMap(({ errors }) => errors),
  };
}

/**
 * Writes moves with their transactions. A move that throws, or that the database refuses, is left out and
 * kept with its transaction.
 *
 * @throws transient errors, and what `write` throws without statements
 */
export async function writeUpdates<Result>(
  ports: WalletPorts,
  updates: readonly TaskUpdate[],
  write: (
    statements: readonly Statement[],
    keepFailed: (transaction: WalletTransaction) => WalletTransaction,
  ) => Promise<Result>,
): Promise<Result> {
  const now = ports.now();
  const { statements, errors } = await collectUpdates(ports, updates, now);
  const failed = errors.map(({ item }) => item);
  const result = await write(statements, (one) =>
    addFailedUpdates(one, updates, failed, now),
  ).catch((error) => {
    if (isTransientError(error) || statements.length === 0) throw error;
    logUpdateFailures(ports, updates, error);
    // Nobody knows which of them the database refuses: the wallet repeats them one by one.
    return write([], (one) => addFailedUpdates(one, updates, updates, now));
  });
  for (const { item, error } of errors) {
    logUpdateFailures(ports, [item], error);
    await noteUpdateFailure(ports, item, now);
  }
  return result;
}

/** Says on a record that it is behind its transaction, if that can be written. */
async function noteUpdateFailure(
  ports: WalletPorts,
  update: TaskUpdate,
  now: number,
): Promise<void> {
  const feature = featureOf(ports, update);
  if (feature === undefined) return;
  const note = (tasks: readonly { id: string }[]) =>
    feature.onUpdateFailure(tasks, UPDATE_FAILED_MESSAGE, now);
  for (const { error } of await forEachIsolated([update.task], note))
    logUpdateFailures(ports, [update], error);
}

const featureOf = ({ features }: WalletPorts, { task }: TaskUpdate): WalletFeature | undefined =>
  features.find(({ name }) => name === task.feature);

function logUpdateFailures(
  { vkey, requestId }: WalletPorts,
  updates: readonly TaskUpdate[],
  error: unknown,
): void {
  for (const [feature, ones] of Map.groupBy(updates, ({ task }) => task.feature))
    logFailure(error, { wallet: vkey, requestId, feature, tasks: ones.map(({ task }) => task.id) });
}

/** A transaction with those updates that failed; one for a task that was made since counts in their place. */
function addFailedUpdates(
  one: WalletTransaction,
  updates: readonly TaskUpdate[],
  failed: readonly TaskUpdate[],
  now: number,
): WalletTransaction {
  const before = one.failedUpdates ?? [];
  const keys = new Set(updates.map(({ task }) => toTaskKey(task)));
  const after = failed.filter(({ transaction }) => transaction.hash === one.hash);
  const kept = before.filter((update) => !keys.has(toTaskKey(update)));
  if (kept.length === before.length && after.length === 0) return one;
  const again = after.map(({ task }): FailedUpdate => {
    const known = before.find((update) => toTaskKey(update) === toTaskKey(task));
    const failures = (known?.failures ?? 0) + 1;
    return {
      feature: task.feature,
      id: task.id,
      failures,
      tryAt: now + computeRetryDelay(failures),
    };
  });
  return { ...one, failedUpdates: [...kept, ...again] };
}
