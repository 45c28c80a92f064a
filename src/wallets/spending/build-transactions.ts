import type { Block } from "../../chain/provider/provider.ts";
import { mentionsOutput } from "../../chain/provider/rejection.ts";
import { truncateMessage } from "../../chain/provider/request.ts";
import { isPending } from "../model/phases.ts";
import { findEarliestTime } from "../queue/backoff.ts";
import { MissingInputError, RetryLaterError } from "../queue/errors.ts";
import type { DueTasks, Task, TaskFailure, WalletFeature } from "../queue/feature.ts";
import { isProviderDown, isTransientError } from "../queue/isolate-failures.ts";
import { type Blocker, findBlocker, findTaskBlocker } from "./blocker.ts";
import {
  type BuildResult,
  buildSignedTransaction,
  type ChainContext,
  readChainContext,
  type StoredContext,
} from "./building/build-transaction.ts";
import { type TransactionMember, toTransientError } from "./building/exclude-bad-members.ts";
import type { BlockSpace } from "./context/output-view.ts";
import type { WalletPorts, WalletRun } from "./context/wallet-ports.ts";
import { findForeignSpends, findPauseEnd } from "./foreign-spends.ts";
import { readDueTasks } from "./isolation/read-due-tasks.ts";
import { reportFailures } from "./isolation/report-failures.ts";
import type { TransactionEvent } from "./model/apply-events.ts";
import { selectTasksForTransaction } from "./model/choose-parallel-output.ts";
import { sendNewTransaction } from "./send-transactions.ts";
import { storeEvents, storeTransactionIfCurrent } from "./store-updates.ts";

/** What may wait for a block, of all of a wallet's transactions: about what a block has room for. */
const MAX_UNCONFIRMED_SPACE = { size: 60_000, memory: 60_000_000 };
/** How often transactions under way are looked at. */
export const POLL_INTERVAL_MS = 4_000;
/** How long a run goes on building before it looks at the chain again. Each feature builds at least once. */
const MAX_BUILD_MS = 20_000;
/** Transactions in a row that were lost to changed records, before half as many tasks are tried. */
const MAX_CONFLICTS = 2;
export const hasDeadline = (tasks: readonly Task[]): boolean =>
  tasks.some(({ deadline }) => deadline !== undefined);

/** What came of building. */
interface BuildOutcome {
  run: WalletRun;
  /** When there is more to build, epoch milliseconds. */
  nextDueAt: number | null;
  blocker: Blocker;
}

/** What a run has read of the database. */
interface StoredWork {
  /** Of each feature. */
  due: readonly Required<DueTasks>[];
  storedContext: StoredContext;
}

/** Builds, stores and sends transactions until nothing is due, or enough waits for a block. */
export async function buildTransactions(
  ports: WalletPorts,
  run: WalletRun,
  tip: Block,
  { due: read, storedContext }: StoredWork,
): Promise<BuildOutcome> {
  const began = ports.now();
  const accepted: TransactionEvent[] = [];
  const nexts: (number | null)[] = [];
  let chainContext: ChainContext | null = null;
  let current = run;
  let unbuilt = read;
  let stored = 0;
  let hold: Blocker;
  for (const [i, feature] of ports.features.entries()) {
    let conflicts = 0;
    let hasBuilt = false;
    for (let due = unbuilt[i]; ; due = undefined) {
      const now = ports.now();
      due ??= await readDueTasks(ports, feature, now);
      const { tasks, nextDueAt: next, failures: unread } = due;
      await reportFailures(ports, feature, unread, now);
      if (await pauseAutomaticTasks(ports, current, feature, tasks, now)) continue;
      // What has begun is judged by the tip, as a node does.
      const begun = tasks.filter(({ notBefore = 0 }) => notBefore <= tip.time * 1000);
      const room = hasBlockSpaceFor(
        current,
        ports.view.requiredBlockSpace.get(feature.name) ?? MIN_BLOCK_SPACE,
      );
      const isLate = hasBuilt && now >= began + MAX_BUILD_MS;
      const pause = room ? (isLate ? now : null) : now + POLL_INTERVAL_MS;
      const stop = tasks.length === 0 ? next : pause;
      if (begun.length === 0 || stop !== null) {
        if (begun.length > 0 && !room)
          hold = { code: "chain", reason: "waits for blocks to include its transactions" };
        nexts.push(tasks.length > begun.length ? now + POLL_INTERVAL_MS : stop);
        break;
      }
      hold ??= null;
      hasBuilt = true;
      const hurried = hasDeadline(begun) ? { ...ports, provider: ports.deadlineProvider } : ports;
      let result: BuildResult;
      try {
        if (chainContext === null) {
          const before = ports.view.lastOutputs;
          try {
            chainContext = await readChainContext(hurried, tip, storedContext);
            if (chainContext.providerOutputs !== before)
              current = await findForeignSpends(
                hurried,
                current,
                before,
                chainContext.providerOutputs,
              );
          } catch (error) {
            throw toTransientError(error);
          }
        }
        const selected = selectTasksForTransaction(begun, now);
        // The fewer there are, the sooner none of them changes meanwhile.
        const halvings = Math.max(conflicts - MAX_CONFLICTS + 1, 0);
        const count = Math.ceil(selected.length / 2 ** halvings);
        result = await buildSignedTransaction(
          hurried,
          current,
          chainContext,
          feature,
          selected.slice(0, count),
        );
      } catch (error) {
        if (isTransientError(error) && !isProviderDown(error)) throw error;
        hold = findBlocker(error) ?? hold;
        if (error instanceof RetryLaterError) {
          nexts.push(Math.max(error.retryAt, now + POLL_INTERVAL_MS));
          break;
        }
        await reportFailures(ports, feature, failuresOf(begun, error), now);
        continue;
      }
      const { signedTransaction: made, failures } = result;
      if (failures.length > 0 && !ports.view.wasReadSince(began)) {
        // What is not there may have come since the provider was asked.
        ports.view.invalidate();
        chainContext = null;
        continue;
      }
      await reportFailures(ports, feature, failures, now);
      hold = failures.reduce((held, { error }) => findTaskBlocker(error) ?? held, hold);
      if (made === null) continue;
      const { transaction, cbor, members } = made;
      if (!hasBlockSpaceFor(current, transaction)) {
        ports.view.requiredBlockSpace.set(feature.name, transaction);
        nexts.push(now + POLL_INTERVAL_MS);
        break;
      }
      ports.view.requiredBlockSpace.delete(feature.name);
      const storing = await storeTransactionIfCurrent(ports, current, feature, made);
      if (storing.is !== "stored") {
        if (storing.is === "failed") await reportFailures(ports, feature, storing.failures, now);
        conflicts = storing.is === "failed" ? 0 : conflicts + 1;
        // Nobody knows which of its tasks the database refuses.
        if (storing.is === "refused") conflicts = Math.max(conflicts, MAX_CONFLICTS);
        continue;
      }
      conflicts = 0;
      current = storing.run;
      stored++;
      const verdict = await sendNewTransaction(
        hurried,
        current,
        transaction,
        cbor,
        storing.storedCounts,
      );
      // That one was accepted need not be stored before the end: it is looked for all the same.
      if (verdict.some(({ event }) => event !== "Accepted")) {
        ports.view.invalidate();
        ports.view.measurements.clear();
        chainContext = null;
        current = await storeEvents(ports, current, verdict);
        // What it ends makes tasks due again.
        unbuilt = [];
        await reportFailures(ports, feature, findMissingInputs(members, verdict), ports.now());
      } else for (const { hash } of verdict) chainContext.acceptedHashes.add(hash);
      accepted.push(...verdict);
    }
  }
  const next = findEarliestTime(nexts);
  return {
    run: await storeEvents(ports, current, accepted),
    nextDueAt: next,
    // Without a next time no task waits, so nothing is blocked.
    blocker: stored > 0 || next === null ? null : hold,
  };
}

/**
 * Pauses automatic tasks while foreign transactions use the wallet's key.
 *
 * @returns whether it paused a task
 */
async function pauseAutomaticTasks(
  ports: WalletPorts,
  { wallet }: WalletRun,
  feature: WalletFeature,
  tasks: readonly Task[],
  now: number,
): Promise<boolean> {
  const until = findPauseEnd(wallet.spentElsewhere, now);
  const automatic = tasks.filter(({ isAutomatic }) => isAutomatic);
  if (until === null || automatic.length === 0) return false;
  const reason =
    "waits because another program spends with the wallet's key: stop that program, and automatic steps continue within an hour";
  await reportFailures(
    ports,
    feature,
    failuresOf(automatic, new RetryLaterError(reason, until, "person")),
    now,
  );
  return true;
}

/** What any transaction needs of a block. */
const MIN_BLOCK_SPACE: BlockSpace = { size: 1, memory: 0 };

/** Whether one more may wait for a block. */
function hasBlockSpaceFor({ openTransactions: open }: WalletRun, more: BlockSpace): boolean {
  const waiting = [...open.filter(({ phase }) => isPending(phase)), more];
  return (["size", "memory"] as const).every(
    (measure) =>
      waiting.reduce((sum, one) => sum + one[measure], 0) <= MAX_UNCONFIRMED_SPACE[measure],
  );
}

const failuresOf = (tasks: readonly Task[], error: unknown): TaskFailure[] =>
  tasks.map((task) => ({ task, error }));

/** Those members of a refused transaction whose inputs the node names. */
function findMissingInputs(
  members: readonly TransactionMember[],
  verdict: readonly TransactionEvent[],
): TaskFailure[] {
  const reason = verdict.map(({ facts }) => facts?.error ?? "").join();
  return members
    .filter(({ part }) => part.scriptInputs.some((one) => mentionsOutput(reason, one)))
    .map(({ task }) => ({ task, error: new MissingInputError(truncateMessage(reason)) }));
}
