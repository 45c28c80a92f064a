/**
 * What records are to say of a wallet's transactions. An update that throws holds up no other update. Its
 * transaction keeps the task, and the wallet repeats the update after growing pauses.
 */
import type { Statement } from "../../../db/client.ts";
import { actOnEach, type ItemError, isolate, isTransient, logFailure } from "../../isolate.ts";
import { pauseAfter } from "../../pauses.ts";
import type { WalletWork } from "../../work.ts";
import type { Move } from "../history.ts";
import type { WalletPorts } from "../ports.ts";
import { type FailedUpdate, taskKey, type WalletTransaction } from "../transaction.ts";

const NOT_RECORDED =
  "An internal error keeps this record from showing what became of its transaction. The service tries again; if that does not help, report it with the service's log.";

/**
 * Statements of each feature for the moves of its tasks, and the moves for which that threw. Features that
 * share records are asked as one, since the batch may write a record once.
 *
 * @throws transient errors
 */
export async function updatesFor(
  { works }: Pick<WalletPorts, "works">,
  moves: readonly Move[],
  now: number,
): Promise<{ statements: Statement[]; errors: ItemError<Move>[] }> {
  const sharing = [...Map.groupBy(works, ({ revision }) => revision).values()];
  const found = await Promise.all(
    sharing.map((group) => {
      const names = group.map(({ name }) => name);
      const theirs = moves.filter(({ task }) => names.includes(task.work));
      return isolate(theirs, async (some) => (await group[0]?.moved(some, now)) ?? []);
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
  moves: readonly Move[],
  write: (
    statements: readonly Statement[],
    keepFailed: (transaction: WalletTransaction) => WalletTransaction,
  ) => Promise<Result>,
): Promise<Result> {
  const now = ports.now();
  const { statements, errors } = await updatesFor(ports, moves, now);
  const failed = errors.map(({ item }) => item);
  const result = await write(statements, (one) => withFailed(one, moves, failed, now)).catch(
    (error) => {
      if (isTransient(error) || statements.length === 0) throw error;
      log(ports, moves, error);
      // Nobody knows which of them the database refuses: the wallet repeats them one by one.
      return write([], (one) => withFailed(one, moves, moves, now));
    },
  );
  for (const { item, error } of errors) {
    log(ports, [item], error);
    await noteOn(ports, item, now);
  }
  return result;
}

/** Says on a record that it is behind its transaction, if that can be written. */
async function noteOn(ports: WalletPorts, move: Move, now: number): Promise<void> {
  const work = workOf(ports, move);
  if (work === undefined) return;
  const note = (tasks: readonly { id: string }[]) => work.onUpdateFailure(tasks, NOT_RECORDED, now);
  for (const { error } of await actOnEach([move.task], note)) log(ports, [move], error);
}

const workOf = ({ works }: WalletPorts, { task }: Move): WalletWork | undefined =>
  works.find(({ name }) => name === task.work);

function log({ vkey, requestId }: WalletPorts, moves: readonly Move[], error: unknown): void {
  for (const [work, ones] of Map.groupBy(moves, ({ task }) => task.work))
    logFailure(error, { wallet: vkey, requestId, work, tasks: ones.map(({ task }) => task.id) });
}

/** A transaction with those updates that failed; one for a task that was made since counts in their place. */
function withFailed(
  one: WalletTransaction,
  moves: readonly Move[],
  failed: readonly Move[],
  now: number,
): WalletTransaction {
  const before = one.failedUpdates ?? [];
  const keys = new Set(moves.map(({ task }) => taskKey(task)));
  const after = failed.filter(({ transaction }) => transaction.hash === one.hash);
  const kept = before.filter((update) => !keys.has(taskKey(update)));
  if (kept.length === before.length && after.length === 0) return one;
  const again = after.map(({ task }): FailedUpdate => {
    const known = before.find((update) => taskKey(update) === taskKey(task));
    const failures = (known?.failures ?? 0) + 1;
    return { work: task.work, id: task.id, failures, tryAt: now + pauseAfter(failures) };
  });
  return { ...one, failedUpdates: [...kept, ...again] };
}
