/**
 * Step lanes: a step spends an output that excludes a second one by its nature, so it need not stand on
 * the outward line. Steps stand on a few small outputs of their own instead, each continued by its
 * change. Whoever else may spend what a step spends kills what hangs on it, so what can be overtaken
 * comes after what cannot.
 */
import { byReference, outputName, type WalletOutput } from "../../chain/transaction/plan.ts";
import { isForCollateral } from "../../chain/transaction/selection.ts";
import type { Task } from "../work.ts";
import { isWaiting } from "./life.ts";
import { makerOf, type WalletTransaction } from "./transaction.ts";

/** Transactions of one line or lane that wait for a block. */
export const MAX_UNCONFIRMED = 20;
export const MAX_LANES = 3;
/** Native minor units that a lane needs to pay for a step. */
const MIN_COIN = 3_000_000n;
/** With less than this left before its deadline, a task hangs on as little as possible. */
const URGENT_MS = 10 * 60_000;

/** What an output hangs on. */
interface Ground {
  /** Transactions that wait for a block. */
  depth: number;
  /** Whether somebody else can make one of them impossible. */
  isShaky: boolean;
}

/** Tells of outputs what they hang on. @param open - all transactions that are not final */
export function groundOf(open: readonly WalletTransaction[]): (output: string) => Ground {
  const waiting = new Map(
    open.filter(({ phase }) => isWaiting(phase)).map((one) => [one.hash, one]),
  );
  const known = new Map<string, ReadonlySet<WalletTransaction>>();
  const withParents = (hash: string): ReadonlySet<WalletTransaction> => {
    const one = waiting.get(hash);
    if (one === undefined) return new Set();
    const found =
      known.get(hash) ??
      new Set([one, ...one.inputs.flatMap((input) => [...withParents(makerOf(input))])]);
    known.set(hash, found);
    return found;
  };
  return (output) => {
    const all = withParents(makerOf(output));
    return { depth: all.size, isShaky: [...all].some(({ canBeOvertaken }) => canBeOvertaken) };
  };
}

/** Where a step stands. */
export interface Lane {
  on: WalletOutput;
  /** Lanes that the wallet could have besides. */
  missing: number;
}

/**
 * Chooses the lane for a step. The outputs that continue a lane come first, then the smallest of the
 * others: the largest are for the line.
 *
 * @param outputs - those that lanes may use
 * @param open - all transactions that are not final
 */
export function laneFor(
  step: { canBeOvertaken: boolean; isUrgent: boolean },
  outputs: readonly WalletOutput[],
  open: readonly WalletTransaction[],
): Lane | "none" | "full" {
  const ground = groundOf(open);
  const continuing = new Set(
    open.flatMap(({ phase, lineIn, lineOut }) =>
      isWaiting(phase) && lineIn === null && lineOut !== null ? [lineOut] : [],
    ),
  );
  const all = outputs
    .filter((one) => one.value.size === 1 && coinOf(one) >= MIN_COIN && !isForCollateral(one))
    .map((output) => ({ output, name: outputName(output), ...ground(outputName(output)) }))
    .sort((a, b) => a.depth - b.depth || byCoin(a.output, b.output));
  const used = all.filter(({ name }) => continuing.has(name)).slice(0, MAX_LANES);
  const free = all.filter(({ name }) => !continuing.has(name));
  const lanes = [...used, ...free.slice(0, MAX_LANES - used.length)];
  if (lanes.length === 0) return "none";
  const confirmed = step.isUrgent && all.find(({ depth }) => depth === 0);
  const chosen = confirmed || roomiest(lanes, step.canBeOvertaken);
  return chosen ? { on: chosen.output, missing: MAX_LANES - lanes.length } : "full";
}

function roomiest<L extends Ground>(lanes: readonly L[], canBeOvertaken: boolean): L | undefined {
  const roomy = lanes
    .filter(({ depth }) => depth < MAX_UNCONFIRMED)
    .sort((a, b) => a.depth - b.depth);
  const firm = roomy.filter(({ isShaky }) => !isShaky);
  if (!canBeOvertaken) return firm[0] ?? roomy[0];
  // The last lane that nobody can cut is kept for what nobody can overtake.
  const isKept = (lane: L) => firm.length === 1 && roomy.length > 1 && !lane.isShaky;
  return roomy.find((lane) => !isKept(lane));
}

/**
 * Which of some tasks go into the next transaction: the most urgent kind, in the feature's order. What
 * is near its deadline comes first, and what can be overtaken last.
 *
 * @param now - epoch milliseconds
 */
export function together(tasks: readonly Task[], now: number): Task[] {
  const rankOf = (task: Task) => (isUrgent(task, now) ? 0 : task.canBeOvertaken ? 2 : 1);
  const [first, ...others] = tasks.toSorted((a, b) => rankOf(a) - rankOf(b));
  if (first === undefined || first.isAlone) return first ? [first] : [];
  return [first, ...others.filter((one) => rankOf(one) === rankOf(first) && !one.isAlone)];
}

export function isUrgent({ deadline }: Pick<Task, "deadline">, now: number): boolean {
  return deadline !== undefined && deadline - now < URGENT_MS;
}

const coinOf = ({ value }: WalletOutput) => value.get("") ?? 0n;

/** The smallest first. */
export const byCoin = (a: WalletOutput, b: WalletOutput) =>
  coinOf(a) < coinOf(b) ? -1 : coinOf(a) > coinOf(b) ? 1 : byReference(a, b);
