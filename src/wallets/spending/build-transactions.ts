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
  type SignedTransaction,
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
import { type StoreResult, storeEvents, storeTransactionIfCurrent } from "./store-updates.ts";

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

type StoredTransaction = Extract<StoreResult, { is: "stored" }>;

/** What a run has read of the database. */
export interface StoredWork {
  /** Of each feature. */
  due: readonly Required<DueTasks>[];
  storedContext: StoredContext;
}

/** Builds, stores and sends transactions until nothing is due, or enough waits for a block. */
export async function buildTransactions(
  ports: WalletPorts,
  run: WalletRun,
  tip: Block,
  work: StoredWork,
): Promise<BuildOutcome> {
  const builder = new Builder(ports, run, tip, work);
  const nexts: (number | null)[] = [];
  for (const [i, feature] of ports.features.entries())
    nexts.push(await builder.buildAll(feature, i));
  return builder.end(findEarliestTime(nexts));
}

/** What a run builds, feature by feature. */
class Builder {
  readonly #ports: WalletPorts;
  readonly #tip: Block;
  readonly #storedContext: StoredContext;
  readonly #began: number;
  readonly #accepted: TransactionEvent[] = [];
  #run: WalletRun;
  /** Due tasks of each feature as the run read them; none once they may have changed. */
  #due: StoredWork["due"];
  /** Null: the provider must be asked. */
  #chainContext: ChainContext | null = null;
  #storedCount = 0;
  #blocker: Blocker;

  constructor(ports: WalletPorts, run: WalletRun, tip: Block, { due, storedContext }: StoredWork) {
    this.#ports = ports;
    this.#run = run;
    this.#tip = tip;
    this.#due = due;
    this.#storedContext = storedContext;
    this.#began = ports.now();
  }

  /**
   * Builds what a feature has due.
   *
   * @param index - place of the feature
   * @returns when the feature has more to build, epoch milliseconds; null: nothing waits
   */
  async buildAll(feature: WalletFeature, index: number): Promise<number | null> {
    const { view } = this.#ports;
    let conflicts = 0;
    let hasBuilt = false;
    for (let due = this.#due[index]; ; due = undefined) {
      const now = this.#ports.now();
      due ??= await readDueTasks(this.#ports, feature, now);
      const { tasks } = due;
      await reportFailures(this.#ports, feature, due.failures, now);
      if (await pauseAutomaticTasks(this.#ports, this.#run, feature, tasks, now)) continue;
      // What has begun is judged by the tip, as a node does.
      const begun = tasks.filter(({ notBefore = 0 }) => notBefore <= this.#tip.time * 1000);
      const stop = tasks.length === 0 ? due.nextDueAt : this.#findPause(feature, hasBuilt, now);
      if (begun.length === 0 || stop !== null) {
        if (begun.length > 0 && !this.#hasSpaceFor(feature))
          this.#blocker = { code: "chain", reason: "waits for blocks to include its transactions" };
        return tasks.length > begun.length ? now + POLL_INTERVAL_MS : stop;
      }
      hasBuilt = true;
      this.#blocker ??= null;
      let result: BuildResult;
      try {
        result = await this.#build(feature, begun, conflicts, now);
      } catch (error) {
        if (isTransientError(error) && !isProviderDown(error)) throw error;
        this.#blocker = findBlocker(error) ?? this.#blocker;
        if (error instanceof RetryLaterError)
          return Math.max(error.retryAt, now + POLL_INTERVAL_MS);
        await reportFailures(this.#ports, feature, failuresOf(begun, error), now);
        continue;
      }
      const { signedTransaction, failures } = result;
      if (failures.length > 0 && !view.wasReadSince(this.#began)) {
        // What is not there may have come since the provider was asked.
        this.#forgetOutputs();
        continue;
      }
      await reportFailures(this.#ports, feature, failures, now);
      for (const { error } of failures) this.#blocker = findTaskBlocker(error) ?? this.#blocker;
      if (signedTransaction === null) continue;
      if (!hasBlockSpaceFor(this.#run, signedTransaction.transaction)) {
        view.requiredBlockSpace.set(feature.name, signedTransaction.transaction);
        return now + POLL_INTERVAL_MS;
      }
      view.requiredBlockSpace.delete(feature.name);
      const storing = await storeTransactionIfCurrent(
        this.#ports,
        this.#run,
        feature,
        signedTransaction,
      );
      if (storing.is === "stored") {
        conflicts = 0;
        await this.#send(feature, signedTransaction, storing, begun);
      } else if (storing.is === "failed") {
        conflicts = 0;
        await reportFailures(this.#ports, feature, storing.failures, now);
      } else {
        // Nobody knows which of its tasks the database refuses.
        conflicts = Math.max(conflicts + 1, storing.is === "refused" ? MAX_CONFLICTS : 0);
      }
    }
  }

  /** What a run has come to. @param nextDueAt - of all features */
  async end(nextDueAt: number | null): Promise<BuildOutcome> {
    return {
      run: await storeEvents(this.#ports, this.#run, this.#accepted),
      nextDueAt,
      // Without a next time no task waits, so nothing is blocked.
      blocker: this.#storedCount > 0 || nextDueAt === null ? null : this.#blocker,
    };
  }

  /** Until when a feature builds no more; null: it may build now. */
  #findPause(feature: WalletFeature, hasBuilt: boolean, now: number): number | null {
    if (!this.#hasSpaceFor(feature)) return now + POLL_INTERVAL_MS;
    return hasBuilt && now >= this.#began + MAX_BUILD_MS ? now : null;
  }

  #hasSpaceFor({ name }: WalletFeature): boolean {
    const required = this.#ports.view.requiredBlockSpace.get(name);
    return hasBlockSpaceFor(this.#run, required ?? MIN_BLOCK_SPACE);
  }

  /** The ports for tasks: those with a deadline may use the last calls that a provider allows. */
  #portsFor(tasks: readonly Task[]): WalletPorts {
    if (!hasDeadline(tasks)) return this.#ports;
    return { ...this.#ports, provider: this.#ports.deadlineProvider };
  }

  /** Builds one transaction for the first of some tasks. @param conflicts - with changed records before */
  async #build(
    feature: WalletFeature,
    tasks: readonly Task[],
    conflicts: number,
    now: number,
  ): Promise<BuildResult> {
    const ports = this.#portsFor(tasks);
    const chainContext = await this.#loadChainContext(ports);
    const selected = selectTasksForTransaction(tasks, now);
    // The fewer there are, the sooner none of them changes meanwhile.
    const halvings = Math.max(conflicts - MAX_CONFLICTS + 1, 0);
    const count = Math.ceil(selected.length / 2 ** halvings);
    const some = selected.slice(0, count);
    return buildSignedTransaction(ports, this.#run, chainContext, feature, some);
  }

  /** @throws transient errors */
  async #loadChainContext(ports: WalletPorts): Promise<ChainContext> {
    if (this.#chainContext !== null) return this.#chainContext;
    const before = ports.view.lastOutputs;
    try {
      const context = await readChainContext(ports, this.#tip, this.#storedContext);
      this.#chainContext = context;
      const { providerOutputs } = context;
      if (providerOutputs !== before)
        this.#run = await findForeignSpends(ports, this.#run, before, providerOutputs);
      return context;
    } catch (error) {
      throw toTransientError(error);
    }
  }

  /** Sends a transaction that was stored just now for some of the due tasks. */
  async #send(
    feature: WalletFeature,
    { transaction, cbor, members }: SignedTransaction,
    { run, storedCounts }: StoredTransaction,
    tasks: readonly Task[],
  ): Promise<void> {
    this.#run = run;
    this.#storedCount++;
    const ports = this.#portsFor(tasks);
    const verdict = await sendNewTransaction(ports, run, transaction, cbor, storedCounts);
    this.#accepted.push(...verdict);
    // That one was accepted need not be stored before the end: it is looked for all the same.
    if (verdict.every(({ event }) => event === "Accepted")) {
      for (const { hash } of verdict) this.#chainContext?.acceptedHashes.add(hash);
      return;
    }
    this.#forgetOutputs();
    ports.view.measurements.clear();
    this.#run = await storeEvents(ports, run, verdict);
    // What it ends makes tasks due again.
    this.#due = [];
    await reportFailures(ports, feature, findMissingInputs(members, verdict), ports.now());
  }

  /** The provider is asked again before the next transaction. */
  #forgetOutputs(): void {
    this.#ports.view.invalidate();
    this.#chainContext = null;
  }
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
