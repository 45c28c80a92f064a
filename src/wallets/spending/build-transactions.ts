import type { Block } from "../../chain/provider/provider.ts";
import { mentionsOutput } from "../../chain/provider/rejection.ts";
import { truncateMessage } from "../../chain/provider/request.ts";
import { isWaiting } from "../model/phases.ts";
import { findEarliest } from "../queue/backoff.ts";
import { MissingInputError, NotYetError } from "../queue/errors.ts";
import type { Task, TaskFailure, WalletFeature } from "../queue/feature.ts";
import { isProviderDown, isTransient } from "../queue/isolate.ts";
import { type Blocker, findBlocker, findTaskBlocker } from "./blocker.ts";
import {
  type BuildResult,
  buildSigned,
  type ChainContext,
  readChainContext,
} from "./building/build-transaction.ts";
import { type Member, toTransient } from "./building/members.ts";
import type { Room } from "./context/output-view.ts";
import type { WalletPorts, WalletRun } from "./context/wallet-ports.ts";
import { findForeignSpends, pausedUntil } from "./foreign-spends.ts";
import { readDue } from "./isolation/read-due.ts";
import { reportFailures } from "./isolation/report-failures.ts";
import type { TransactionEvent } from "./model/apply-events.ts";
import { selectForOne } from "./model/choose-lane.ts";
import { sendNew } from "./send-transactions.ts";
import { storeEvents, storeIfWanted } from "./store-updates.ts";

/** What may wait for a block, of all of a wallet's transactions: about what a block has room for. */
const MAX_UNCONFIRMED_TOTAL = { size: 60_000, memory: 60_000_000 };
/** How often transactions under way are looked at. */
export const CHECK_MS = 4_000;
/** How long a run goes on building before it looks at the chain again. */
const BUILD_MS = 20_000;
/** Transactions in a row that were lost to changed records, before half as many tasks are tried. */
const MAX_CONFLICTS = 2;
export const hasDeadline = (tasks: readonly Task[]): boolean =>
  tasks.some(({ deadline }) => deadline !== undefined);

/** What came of building. */
interface BuildOutcome {
  run: WalletRun;
  /** When there is more to build, epoch milliseconds. */
  next: number | null;
  hold: Blocker;
}

/** Builds, stores and sends transactions until nothing is due, or enough waits for a block. */
export async function buildTransactions(
  ports: WalletPorts,
  run: WalletRun,
  tip: Block,
): Promise<BuildOutcome> {
  const began = ports.now();
  const accepted: TransactionEvent[] = [];
  const nexts: (number | null)[] = [];
  let chainContext: ChainContext | null = null;
  let current = run;
  let stored = 0;
  let hold: Blocker;
  for (const feature of ports.features) {
    let conflicts = 0;
    for (;;) {
      const now = ports.now();
      const { tasks, next, failures: unread } = await readDue(ports, feature, now);
      await reportFailures(ports, feature, unread, now);
      if (await pauseAutomatic(ports, current, feature, tasks, now)) continue;
      // What has begun is judged by the tip, as a node does.
      const begun = tasks.filter(({ notBefore = 0 }) => notBefore <= tip.time * 1000);
      const room = hasRoomFor(current, ports.view.requiredRoom.get(feature.name) ?? MIN_ROOM);
      const pause = room ? (now >= began + BUILD_MS ? now : null) : now + CHECK_MS;
      const stop = tasks.length === 0 ? next : pause;
      if (begun.length === 0 || stop !== null) {
        if (begun.length > 0 && !room)
          hold = { code: "chain", reason: "waits for blocks to include its transactions" };
        nexts.push(tasks.length > begun.length ? now + CHECK_MS : stop);
        break;
      }
      hold ??= null;
      const hurried = hasDeadline(begun) ? { ...ports, provider: ports.deadlineProvider } : ports;
      let result: BuildResult;
      try {
        if (chainContext === null) {
          const before = ports.view.last;
          try {
            chainContext = await readChainContext(hurried, tip);
            if (chainContext.shown !== before)
              current = await findForeignSpends(hurried, current, before, chainContext.shown);
          } catch (error) {
            throw toTransient(error);
          }
        }
        const selected = selectForOne(begun, now);
        // The fewer there are, the sooner none of them changes meanwhile.
        const halvings = Math.max(conflicts - MAX_CONFLICTS + 1, 0);
        const count = Math.ceil(selected.length / 2 ** halvings);
        result = await buildSigned(
          hurried,
          current,
          chainContext,
          feature,
          selected.slice(0, count),
        );
      } catch (error) {
        if (isTransient(error) && !isProviderDown(error)) throw error;
        hold = findBlocker(error) ?? hold;
        if (error instanceof NotYetError) {
          nexts.push(Math.max(error.until, now + CHECK_MS));
          break;
        }
        await reportFailures(ports, feature, failuresOf(begun, error), now);
        continue;
      }
      const { signed: made, failures } = result;
      if (failures.length > 0 && !ports.view.isReadSince(began)) {
        // What is not there may have come since the provider was asked.
        ports.view.forget();
        chainContext = null;
        continue;
      }
      await reportFailures(ports, feature, failures, now);
      hold = failures.reduce((held, { error }) => findTaskBlocker(error) ?? held, hold);
      if (made === null) continue;
      const { transaction, cbor, members } = made;
      if (!hasRoomFor(current, transaction)) {
        ports.view.requiredRoom.set(feature.name, transaction);
        nexts.push(now + CHECK_MS);
        break;
      }
      ports.view.requiredRoom.delete(feature.name);
      const storing = await storeIfWanted(ports, current, feature, made);
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
      const verdict = await sendNew(hurried, current, transaction, cbor);
      // That one was accepted need not be stored before the end: it is looked for all the same.
      if (verdict.some(({ event }) => event !== "Accepted")) {
        ports.view.forget();
        ports.view.measurements.forget();
        chainContext = null;
        current = await storeEvents(ports, current, verdict);
        await reportFailures(ports, feature, findMissingInputs(members, verdict), ports.now());
      } else for (const { hash } of verdict) chainContext.accepted.add(hash);
      accepted.push(...verdict);
    }
  }
  const next = findEarliest(nexts);
  const isIdle = hold === undefined && next === null;
  return {
    run: await storeEvents(ports, current, accepted),
    next,
    hold: stored > 0 || isIdle ? null : hold,
  };
}

/**
 * Pauses automatic tasks while foreign transactions use the wallet's key.
 *
 * @returns whether it paused a task
 */
async function pauseAutomatic(
  ports: WalletPorts,
  { wallet }: WalletRun,
  feature: WalletFeature,
  tasks: readonly Task[],
  now: number,
): Promise<boolean> {
  const until = pausedUntil(wallet.spentElsewhere, now);
  const automatic = tasks.filter(({ isAutomatic }) => isAutomatic);
  if (until === null || automatic.length === 0) return false;
  const reason =
    "waits because another program spends with the wallet's key: stop that program, and automatic steps continue within an hour";
  await reportFailures(
    ports,
    feature,
    failuresOf(automatic, new NotYetError(reason, until, "person")),
    now,
  );
  return true;
}

/** What any transaction needs of a block. */
const MIN_ROOM: Room = { size: 1, memory: 0 };

/** Whether one more may wait for a block. */
function hasRoomFor({ open }: WalletRun, more: Room): boolean {
  const waiting = [...open.filter(({ phase }) => isWaiting(phase)), more];
  return (["size", "memory"] as const).every(
    (measure) =>
      waiting.reduce((sum, one) => sum + one[measure], 0) <= MAX_UNCONFIRMED_TOTAL[measure],
  );
}

const failuresOf = (tasks: readonly Task[], error: unknown): TaskFailure[] =>
  tasks.map((task) => ({ task, error }));

/** Those members of a refused transaction whose inputs the node names. */
function findMissingInputs(
  members: readonly Member[],
  verdict: readonly TransactionEvent[],
): TaskFailure[] {
  const reason = verdict.map(({ facts }) => facts?.error ?? "").join();
  return members
    .filter(({ part }) => part.scriptInputs.some((one) => mentionsOutput(reason, one)))
    .map(({ task }) => ({ task, error: new MissingInputError(truncateMessage(reason)) }));
}
