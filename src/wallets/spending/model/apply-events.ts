/** What happens to some of a wallet's transactions, and what follows for the others and for tasks. */
import { truncateMessage } from "../../../chain/provider/request.ts";
import { formatOutputReference } from "../../../chain/transaction/transaction-plan.ts";
import {
  isActive,
  isInChain,
  isPending,
  PHASE_TRANSITIONS,
  type PhaseEvent,
  progressOf,
  type TransactionPhase,
} from "../../model/phases.ts";
import {
  type TaskUpdate,
  toTaskKey,
  txHashOf,
  type WalletTransaction,
} from "../../model/wallet-transaction.ts";

/** Something that happened to a transaction. */
export interface TransactionEvent {
  hash: string;
  event: PhaseEvent;
  /** What became known with it; of an error, all that was said. */
  facts?: Partial<
    Pick<WalletTransaction, "blockHeight" | "blockHash" | "blockTime" | "overHeight" | "error">
  >;
}

export interface AppliedEvents {
  /** All transactions as they are now. */
  transactions: WalletTransaction[];
  /** Those of them that changed. */
  changedTransactions: WalletTransaction[];
  /** Tasks for which something changed. */
  updates: TaskUpdate[];
}

const NOT_IN_BLOCK = { blockHeight: null, blockHash: null, blockTime: null };

/**
 * Applies events and their consequences. A transaction whose input is spent in a block, or was never made, is
 * displaced.
 *
 * @param before - all transactions that are not final
 * @param at - epoch milliseconds
 */
export function applyEvents(
  before: readonly WalletTransaction[],
  events: readonly TransactionEvent[],
  at: number,
): AppliedEvents {
  const now = new Map(before.map((one) => [one.hash, one]));
  for (const event of events) applyEvent(now, event, at);
  for (let more = findConsequences(now); more.length > 0; more = findConsequences(now))
    for (const event of more) applyEvent(now, event, at);
  const old = new Map(before.map((one) => [one.hash, one]));
  const transactions = [...now.values()];
  const changed = transactions.filter((one) => one !== old.get(one.hash));
  return {
    transactions,
    changedTransactions: changed,
    updates: collectTaskUpdates(transactions, changed, old),
  };
}

function applyEvent(
  now: Map<string, WalletTransaction>,
  { hash, event, facts = {} }: TransactionEvent,
  at: number,
): void {
  const one = now.get(hash);
  if (one === undefined) return;
  const phase = PHASE_TRANSITIONS[one.phase][event];
  if (phase === undefined) {
    // What does not move it may still be news: the end of its validity.
    if (facts.overHeight !== undefined && one.overHeight === null)
      now.set(hash, { ...one, overHeight: facts.overHeight });
    return;
  }
  const known = facts.error ? { ...facts, error: truncateMessage(facts.error) } : facts;
  now.set(hash, { ...one, ...(event === "Gone" && NOT_IN_BLOCK), ...known, phase, movedAt: at });
}

/** What the present phases demand of transactions that have not followed yet. */
function findConsequences(now: ReadonlyMap<string, WalletTransaction>): TransactionEvent[] {
  const all = [...now.values()];
  const indexSpenders = (phases: (phase: TransactionPhase) => boolean) =>
    new Map(
      all.flatMap((one) =>
        phases(one.phase) ? one.inputs.map((input) => [input, one.hash] as const) : [],
      ),
    );
  const inChain = indexSpenders(isInChain);
  const final = indexSpenders((phase) => phase === "Final");
  const lost = new Set(
    all.flatMap(({ phase, collateral }) =>
      phase === "Failed" && collateral ? collateral.inputs : [],
    ),
  );
  const isInputSpent = (taken: ReadonlyMap<string, string>, { hash, inputs }: WalletTransaction) =>
    inputs.some((input) => (taken.get(input) ?? hash) !== hash);
  const areInputsCreated = (
    { inputs }: WalletTransaction,
    isPossible: (maker: WalletTransaction) => boolean,
  ) =>
    inputs.every((input) => {
      const maker = now.get(txHashOf(input));
      return (
        maker === undefined ||
        (isCollateralReturn(maker, input) ? hasFailedScript(maker) : isPossible(maker))
      );
    });
  const hasLostCollateral = ({ inputs, collateral }: WalletTransaction) =>
    [...inputs, ...(collateral?.inputs ?? [])].some((input) => lost.has(input));

  return all.flatMap((one): TransactionEvent[] => {
    if (isPending(one.phase)) {
      const isDisplaced =
        isInputSpent(inChain, one) ||
        hasLostCollateral(one) ||
        !areInputsCreated(one, ({ phase }) => isActive(phase));
      return isDisplaced ? [{ hash: one.hash, event: "Displaced" }] : [];
    }
    const hasEnded = PHASE_TRANSITIONS[one.phase].Impossible !== undefined;
    const isImpossible =
      isInputSpent(final, one) || !areInputsCreated(one, ({ phase }) => phase !== "Dead");
    return hasEnded && isImpossible ? [{ hash: one.hash, event: "Impossible" }] : [];
  });
}

/** Whether an output is what a failed script leaves of the collateral. */
function isCollateralReturn({ hash, collateral }: WalletTransaction, output: string): boolean {
  return (
    collateral !== null &&
    output === formatOutputReference({ txHash: hash, ...collateral.returned })
  );
}

/** Whether a block has it with a failed script, for good or not. */
function hasFailedScript({ phase, blockHash }: WalletTransaction): boolean {
  return phase === "Failed" || (phase === "Dead" && blockHash !== null);
}

/**
 * For each task of a changed transaction the one that counts. At most one of its transactions lives;
 * when none does any more, it is the one that lived before, and has just ended.
 */
export function collectTaskUpdates(
  all: readonly WalletTransaction[],
  changed: readonly WalletTransaction[],
  old: ReadonlyMap<string, WalletTransaction>,
): TaskUpdate[] {
  const keys = new Set(changed.flatMap(({ tasks }) => tasks.map(toTaskKey)));
  return [...keys].flatMap((key) => {
    const mine = all.filter(({ tasks }) => tasks.some((task) => toTaskKey(task) === key));
    const before = mine.map(({ hash }) => old.get(hash)).find((one) => one && isActive(one.phase));
    const counts =
      mine.find(({ phase }) => isActive(phase)) ?? mine.find(({ hash }) => hash === before?.hash);
    const task = counts?.tasks.find((one) => toTaskKey(one) === key);
    return counts && task && !hasSameProgress(counts, before)
      ? [{ task, transaction: counts }]
      : [];
  });
}

/** For a task it matters which transaction does it, and how far that one is. */
function hasSameProgress(one: WalletTransaction, other: WalletTransaction | undefined): boolean {
  return one.hash === other?.hash && progressOf(one.phase) === progressOf(other.phase);
}
