import { shorten } from "../../chain/provider/answer.ts";
import type { Block } from "../../chain/provider/provider.ts";
import { namesOutput } from "../../chain/provider/refusal.ts";
import { isForAll, isTransient } from "../isolate.ts";
import { earliest } from "../pauses.ts";
import { type Failure, InputMissing, type Task, type WalletWork } from "../work.ts";
import type { Happening } from "./history.ts";
import { readDue } from "./isolation/read-due.ts";
import { reportFailures } from "./isolation/report-failures.ts";
import { together } from "./lanes.ts";
import { isWaiting } from "./life.ts";
import { type Making, make, type Surroundings, surroundings } from "./making/make.ts";
import { beforeTasks, type Member } from "./making/members.ts";
import { NotYet } from "./making/window.ts";
import type { Room } from "./outputs.ts";
import type { Run, WalletPorts } from "./ports.ts";
import { happen, storeUnchanged } from "./record.ts";
import { sendNew } from "./send.ts";
import { noticeSpentElsewhere, pausedUntil } from "./trouble/elsewhere.ts";
import { type Hold, holdOf, holdOfTask } from "./trouble/hold.ts";

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
interface Built {
  run: Run;
  /** When there is more to build, epoch milliseconds. */
  next: number | null;
  hold: Hold;
}

/** Builds, stores and sends transactions until nothing is due, or enough waits for a block. */
export async function build(ports: WalletPorts, run: Run, tip: Block): Promise<Built> {
  const began = ports.now();
  const accepted: Happening[] = [];
  const nexts: (number | null)[] = [];
  let around: Surroundings | null = null;
  let current = run;
  let stored = 0;
  let hold: Hold;
  for (const work of ports.works) {
    let conflicts = 0;
    for (;;) {
      const now = ports.now();
      const { tasks, next, failures: unread } = await readDue(ports, work, now);
      await reportFailures(ports, work, unread, now);
      if (await pauseAutomatic(ports, current, work, tasks, now)) continue;
      // What has begun is judged by the tip, as a node does.
      const begun = tasks.filter(({ begins = 0 }) => begins <= tip.time * 1000);
      const room = hasRoomFor(current, ports.view.roomFor.get(work.name) ?? LEAST);
      const pause = room ? (now >= began + BUILD_MS ? now : null) : now + CHECK_MS;
      const stop = tasks.length === 0 ? next : pause;
      if (begun.length === 0 || stop !== null) {
        if (begun.length > 0 && !room) hold = "waits for blocks to take what it has sent";
        nexts.push(tasks.length > begun.length ? now + CHECK_MS : stop);
        break;
      }
      hold ??= null;
      const hurried = hasDeadline(begun) ? { ...ports, provider: ports.deadlineProvider } : ports;
      let making: Making;
      try {
        if (around === null) {
          const before = ports.view.last;
          try {
            around = await surroundings(hurried, tip);
            if (around.shown !== before)
              current = await noticeSpentElsewhere(hurried, current, before, around.shown);
          } catch (error) {
            throw beforeTasks(error);
          }
        }
        const chosen = together(begun, now);
        // The fewer there are, the sooner none of them changes meanwhile.
        const halvings = Math.max(conflicts - MAX_CONFLICTS + 1, 0);
        const count = Math.ceil(chosen.length / 2 ** halvings);
        making = await make(hurried, current, around, work, chosen.slice(0, count));
      } catch (error) {
        if (isTransient(error) && !isForAll(error)) throw error;
        hold = holdOf(error) ?? hold;
        if (error instanceof NotYet) {
          nexts.push(Math.max(error.until, now + CHECK_MS));
          break;
        }
        await reportFailures(ports, work, failuresOf(begun, error), now);
        continue;
      }
      const { made, failures } = making;
      if (failures.length > 0 && !ports.view.isOf(began)) {
        // What is not there may have come since the provider was asked.
        ports.view.forget();
        around = null;
        continue;
      }
      await reportFailures(ports, work, failures, now);
      hold = failures.reduce((held, { error }) => holdOfTask(error) ?? held, hold);
      if (made === null) continue;
      const { transaction, cbor, members } = made;
      if (!hasRoomFor(current, transaction)) {
        ports.view.roomFor.set(work.name, transaction);
        nexts.push(now + CHECK_MS);
        break;
      }
      ports.view.roomFor.delete(work.name);
      const storing = await storeUnchanged(ports, current, work, made);
      if (storing.is !== "stored") {
        if (storing.is === "failed") await reportFailures(ports, work, storing.failures, now);
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
        around = null;
        current = await happen(ports, current, verdict);
        await reportFailures(ports, work, missingAmong(members, verdict), ports.now());
      } else for (const { hash } of verdict) around.accepted.add(hash);
      accepted.push(...verdict);
    }
  }
  const next = earliest(nexts);
  const isIdle = hold === undefined && next === null;
  return {
    run: await happen(ports, current, accepted),
    next,
    hold: stored > 0 || isIdle ? null : hold,
  };
}

/**
 * While somebody else uses the wallet's key, what no person asked for waits.
 *
 * @returns whether some of the tasks do
 */
async function pauseAutomatic(
  ports: WalletPorts,
  { wallet }: Run,
  work: WalletWork,
  tasks: readonly Task[],
  now: number,
): Promise<boolean> {
  const until = pausedUntil(wallet.spentElsewhere, now);
  const automatic = tasks.filter(({ isAutomatic }) => isAutomatic);
  if (until === null || automatic.length === 0) return false;
  const reason = "waits: the wallet's key is used elsewhere, see SpentElsewhere of GET /wallet";
  await reportFailures(ports, work, failuresOf(automatic, new NotYet(reason, until)), now);
  return true;
}

/** What any transaction needs of a block. */
const LEAST: Room = { size: 1, memory: 0 };

/** Whether one more may wait for a block. */
function hasRoomFor({ open }: Run, more: Room): boolean {
  const waiting = [...open.filter(({ phase }) => isWaiting(phase)), more];
  return (["size", "memory"] as const).every(
    (measure) =>
      waiting.reduce((sum, one) => sum + one[measure], 0) <= MAX_UNCONFIRMED_TOTAL[measure],
  );
}

const failuresOf = (tasks: readonly Task[], error: unknown): Failure[] =>
  tasks.map((task) => ({ task, error }));

/** Those members of a refused transaction whose inputs the node names. */
function missingAmong(members: readonly Member[], verdict: readonly Happening[]): Failure[] {
  const reason = verdict.map(({ facts }) => facts?.error ?? "").join();
  return members
    .filter(({ part }) => part.scriptInputs.some((one) => namesOutput(reason, one)))
    .map(({ task }) => ({ task, error: new InputMissing(shorten(reason)) }));
}
