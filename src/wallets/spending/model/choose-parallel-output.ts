/**
 * Parallel outputs for steps. Each step spends an output that only one transaction can spend, so steps need no
 * order between them. Instead of the outward chain, they spend a few small outputs of the wallet. The change of
 * a transaction takes the place of the parallel output that it spends.
 * A foreign spend invalidates a step's descendants, so replaceable steps come after the others.
 */

import { coinOf } from "../../../chain/transaction/order-outputs.ts";
import { isCollateralOutput } from "../../../chain/transaction/select-inputs.ts";
import {
  compareOutputReferences,
  formatOutputReference,
  type WalletOutput,
} from "../../../chain/transaction/transaction-plan.ts";
import { isPending } from "../../model/phases.ts";
import { txHashOf, type WalletTransaction } from "../../model/wallet-transaction.ts";
import type { Task } from "../../queue/feature.ts";

/** Transactions that wait for a block: so many in the outward chain, and on each parallel output. */
export const MAX_UNCONFIRMED_TRANSACTIONS = 20;
export const MAX_PARALLEL_OUTPUTS = 3;
/** Native minor units that a parallel output needs to pay for a step. */
const MIN_PARALLEL_COIN = 3_000_000n;
/** With less time before its deadline, a task spends an output with as few ancestors as possible. */
const URGENT_WINDOW_MS = 10 * 60_000;

/** The pending ancestors of an output. */
interface Ancestry {
  /** Transactions that wait for a block. */
  depth: number;
  /** Whether another party can invalidate an ancestor. */
  isReplaceable: boolean;
}

/** Tells of outputs what they hang on. @param open - all transactions that are not final */
export function ancestryOf(open: readonly WalletTransaction[]): (output: string) => Ancestry {
  const waiting = new Map(
    open.filter(({ phase }) => isPending(phase)).map((one) => [one.hash, one]),
  );
  const known = new Map<string, ReadonlySet<WalletTransaction>>();
  const collectPendingAncestors = (hash: string): ReadonlySet<WalletTransaction> => {
    const one = waiting.get(hash);
    if (one === undefined) return new Set();
    const found =
      known.get(hash) ??
      new Set([
        one,
        ...one.inputs.flatMap((input) => [...collectPendingAncestors(txHashOf(input))]),
      ]);
    known.set(hash, found);
    return found;
  };
  return (output) => {
    const all = collectPendingAncestors(txHashOf(output));
    return {
      depth: all.size,
      isReplaceable: [...all].some(({ isReplaceable }) => isReplaceable),
    };
  };
}

/** The output for a step. */
export interface ParallelOutput {
  output: WalletOutput;
  /** Parallel outputs that the wallet could have besides. */
  missingOutputCount: number;
}

/**
 * Chooses the parallel output for a step. The change of pending steps comes first, then the smallest other
 * outputs. The largest outputs stay for the outward chain.
 *
 * @param outputs - the outputs that steps may spend.
 * @param open - all transactions that are not final.
 */
export function chooseParallelOutput(
  step: { isReplaceable: boolean; isUrgent: boolean },
  outputs: readonly WalletOutput[],
  open: readonly WalletTransaction[],
): ParallelOutput | "none" | "full" {
  const ancestry = ancestryOf(open);
  const continuing = new Set(
    open.flatMap(({ phase, chainedInput, changeOutput }) =>
      isPending(phase) && chainedInput === null && changeOutput !== null ? [changeOutput] : [],
    ),
  );
  const all = outputs
    .filter(
      (one) => one.value.size === 1 && coinOf(one) >= MIN_PARALLEL_COIN && !isCollateralOutput(one),
    )
    .map((output) => ({
      output,
      name: formatOutputReference(output),
      ...ancestry(formatOutputReference(output)),
    }))
    .sort((a, b) => a.depth - b.depth || compareByCoin(a.output, b.output));
  const used = all.filter(({ name }) => continuing.has(name)).slice(0, MAX_PARALLEL_OUTPUTS);
  const free = all.filter(({ name }) => !continuing.has(name));
  const parallel = [...used, ...free.slice(0, MAX_PARALLEL_OUTPUTS - used.length)];
  if (parallel.length === 0) return "none";
  const confirmed = step.isUrgent && all.find(({ depth }) => depth === 0);
  const selected = confirmed || chooseLeastLoaded(parallel, step.isReplaceable);
  return selected
    ? { output: selected.output, missingOutputCount: MAX_PARALLEL_OUTPUTS - parallel.length }
    : "full";
}

function chooseLeastLoaded<Output extends Ancestry>(
  outputs: readonly Output[],
  isReplaceable: boolean,
): Output | undefined {
  const roomy = outputs
    .filter(({ depth }) => depth < MAX_UNCONFIRMED_TRANSACTIONS)
    .sort((a, b) => a.depth - b.depth);
  const firm = roomy.filter(({ isReplaceable: isShaky }) => !isShaky);
  if (!isReplaceable) return firm[0] ?? roomy[0];
  // The last output whose ancestors nobody can invalidate is kept for tasks that nobody can overtake.
  const isReserved = (one: Output) => firm.length === 1 && roomy.length > 1 && !one.isReplaceable;
  return roomy.find((one) => !isReserved(one));
}

/**
 * Which of some tasks go into the next transaction: the most urgent kind, in the feature's order. What
 * is near its deadline comes first, and what can be overtaken last.
 *
 * @param now - epoch milliseconds
 */
export function selectTasksForTransaction(tasks: readonly Task[], now: number): Task[] {
  const rankOf = (task: Task) => (isUrgent(task, now) ? 0 : task.isReplaceable ? 2 : 1);
  const [first, ...others] = tasks.toSorted((a, b) => rankOf(a) - rankOf(b));
  if (first === undefined || first.isAlone) return first ? [first] : [];
  return [first, ...others.filter((one) => rankOf(one) === rankOf(first) && !one.isAlone)];
}

export function isUrgent({ deadline }: Pick<Task, "deadline">, now: number): boolean {
  return deadline !== undefined && deadline - now < URGENT_WINDOW_MS;
}

/** The smallest first. */
export const compareByCoin = (a: WalletOutput, b: WalletOutput) =>
  coinOf(a) < coinOf(b) ? -1 : coinOf(a) > coinOf(b) ? 1 : compareOutputReferences(a, b);
