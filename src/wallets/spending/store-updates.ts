/** The batches that move a wallet: each has what the records of its tasks are told. */
import { log } from "../../log.ts";
import { isOpen, type TransactionPhase } from "../model/phases.ts";
import { toTaskKey, type WalletTransaction } from "../model/wallet-transaction.ts";
import { findEarliestTime } from "../queue/backoff.ts";
import { RecordChangedError } from "../queue/errors.ts";
import type { TaskFailure, WalletFeature } from "../queue/feature.ts";
import { isolateFailures, isTransientError } from "../queue/isolate-failures.ts";
import { deleteFinalTasks } from "../queue/store.ts";
import type { SignedTransaction } from "./building/build-transaction.ts";
import type { WalletPorts, WalletRun } from "./context/wallet-ports.ts";
import { collectUpdates, writeUpdates } from "./isolation/write-updates.ts";
import { applyEvents, collectTaskUpdates, type TransactionEvent } from "./model/apply-events.ts";
import type { StoredCounts } from "./model/journal.ts";
import { advanceChainRoot } from "./model/outward-chain.ts";
import { insertTransaction, updateTransactions } from "./store/transactions.ts";
import { commitWallet, selectStoredCounts } from "./store/wallet.ts";

/** Stores transactions again that the database has forgotten, and tells their tasks. */
export async function restoreTransactions(
  ports: WalletPorts,
  run: WalletRun,
  lost: readonly WalletTransaction[],
): Promise<WalletRun> {
  const { wallet, openTransactions: open, unsettledTransactions: late } = run;
  const old = new Map(open.map((one) => [one.hash, one]));
  const updates = collectTaskUpdates([...open, ...lost], lost, old);
  return writeUpdates(ports, updates, async (statements, keepFailed) => {
    const now = ports.now();
    const found = lost.map(keepFailed);
    const { wallet: next } = await commitWallet(
      ports.db,
      wallet,
      {
        sequence: wallet.sequence + found.length,
        chainRoot:
          wallet.chainRoot ??
          found.find(({ chainedInput }) => chainedInput !== null)?.chainedInput ??
          null,
      },
      [
        ...found.flatMap((one) => insertTransaction(wallet, one, null, { ...ports, now })),
        ...statements,
      ],
      createWriteContext(ports, now),
    );
    for (const one of found) logPhase(ports, one);
    return { wallet: next, openTransactions: [...open, ...found], unsettledTransactions: late };
  });
}

/** Writes what happened to transactions, and what follows from it, with what their tasks are told. */
export async function storeEvents(
  ports: WalletPorts,
  run: WalletRun,
  events: readonly TransactionEvent[],
): Promise<WalletRun> {
  const { wallet, openTransactions: open, unsettledTransactions: late } = run;
  const {
    transactions,
    changedTransactions: changed,
    updates,
  } = applyEvents(open, events, ports.now());
  if (changed.length === 0) return run;
  const chainRoot = wallet.chainRoot && advanceChainRoot(wallet.chainRoot, transactions);
  const { wallet: moved, all } = await writeUpdates(
    ports,
    updates,
    async (statements, keepFailed) => {
      const now = ports.now();
      const all = transactions.map(keepFailed);
      const written = all.filter((one, i) => one !== transactions[i] || changed.includes(one));
      const final = deleteFinalTasks(changed.map(keepFailed));
      const batch = [...updateTransactions(written, now), ...final, ...statements];
      const context = createWriteContext(ports, now);
      return { all, ...(await commitWallet(ports.db, wallet, { chainRoot }, batch, context)) };
    },
  );
  // What they spent is told by them no more, only by a provider that has followed the chain.
  if (changed.some(({ phase }) => !isOpen(phase))) ports.view.invalidate();
  const before = new Map(open.map((one) => [one.hash, one.phase]));
  for (const one of changed) logPhase(ports, one, before.get(one.hash));
  return {
    wallet: moved,
    openTransactions: all.filter(({ phase }) => isOpen(phase)),
    unsettledTransactions: [...late, ...all.filter(hasUnrecordedOutcome)],
  };
}

/**
 * Repeats the record updates that failed, one by one.
 *
 * @returns the wallet after it, the same if nothing was repeated, and when the next is repeated, epoch
 *   milliseconds
 */
export async function retryFailedUpdates(
  ports: WalletPorts,
  run: WalletRun,
): Promise<{ run: WalletRun; nextRetryAt: number | null }> {
  const now = ports.now();
  let { wallet } = run;
  const after = new Map<string, WalletTransaction>();
  for (let transaction of [...run.openTransactions, ...run.unsettledTransactions]) {
    for (const { tryAt, ...update } of transaction.failedUpdates ?? []) {
      const task = transaction.tasks.find((one) => toTaskKey(one) === toTaskKey(update));
      if (tryAt > now || !task) continue;
      const before = transaction;
      const updates = [{ task, transaction }];
      [wallet, transaction] = await writeUpdates(ports, updates, async (statements, keepFailed) => {
        const kept = keepFailed(before);
        const batch = [...updateTransactions([kept], now), ...statements];
        const context = createWriteContext(ports, now);
        return [(await commitWallet(ports.db, wallet, {}, batch, context)).wallet, kept];
      });
    }
    after.set(transaction.hash, transaction);
  }
  const refresh = (some: readonly WalletTransaction[]) =>
    some.map((one) => after.get(one.hash) ?? one);
  const open = refresh(run.openTransactions);
  const late = refresh(run.unsettledTransactions).filter(hasUnrecordedOutcome);
  const failed = [...open, ...late].flatMap(({ failedUpdates = [] }) => failedUpdates);
  const isUnchanged = wallet === run.wallet;
  return {
    run: isUnchanged ? run : { wallet, openTransactions: open, unsettledTransactions: late },
    nextRetryAt: findEarliestTime(failed.map(({ tryAt }) => tryAt)),
  };
}

/** Whether a final transaction has records that do not say so yet. */
const hasUnrecordedOutcome = ({ phase, failedUpdates = [] }: WalletTransaction) =>
  !isOpen(phase) && failedUpdates.length > 0;

/** What came of storing a transaction. */
export type StoreResult =
  | { is: "stored"; run: WalletRun /** See `queryJournal`. */; storedCounts: StoredCounts | null }
  /** Records of its tasks ask for something else by now. */
  | { is: "changed" }
  /** These tasks cannot be written. */
  | { is: "failed"; failures: readonly TaskFailure[] }
  /** The database refuses the values of one of its tasks, and does not say of which. */
  | { is: "refused" };

/** Stores a signed transaction with what it means for its tasks, before anybody sees it. */
async function storeNewTransaction(
  ports: WalletPorts,
  { wallet, openTransactions: open, unsettledTransactions: late }: WalletRun,
  { transaction, cbor, walletChange, members }: SignedTransaction,
): Promise<StoreResult> {
  const now = ports.now();
  const updates = transaction.tasks.map((task) => ({ task, transaction }));
  const { statements, errors } = await collectUpdates(ports, updates, now);
  if (errors.length > 0) {
    const failures = members.flatMap(({ task }) => {
      const one = errors.find(({ item }) => item.task.id === task.id);
      return one ? [{ task, error: one.error }] : [];
    });
    return { is: "failed", failures };
  }
  const change = { ...walletChange, sequence: transaction.sequence };
  const inserted = insertTransaction(wallet, transaction, cbor, { ...ports, now });
  try {
    const { wallet: next, results } = await commitWallet(
      ports.db,
      wallet,
      change,
      [...inserted, ...statements, selectStoredCounts(wallet.network)],
      createWriteContext(ports, now),
    );
    logPhase(ports, transaction);
    return {
      is: "stored",
      run: { wallet: next, openTransactions: [...open, transaction], unsettledTransactions: late },
      storedCounts: (results.at(-1)?.results[0] ?? null) as StoredCounts | null,
    };
  } catch (error) {
    if (isTransientError(error)) throw error;
    const [only, ...others] = members;
    if (!only || others.length > 0) return { is: "refused" };
    return { is: "failed", failures: [{ task: only.task, error }] };
  }
}

/** Logs the state to which a transaction came, once that is stored. */
function logPhase(
  { vkey, requestId }: WalletPorts,
  { hash, phase, error }: WalletTransaction,
  from: TransactionPhase | null = null,
): void {
  log("info", "wallet.transaction", { wallet: vkey, requestId, hash, from, phase, error });
}

/** How often the same bytes are stored again, when records change and what they ask for does not. */
const MAX_STORE_ATTEMPTS = 3;

/**
 * Stores a transaction as `storeNewTransaction` does. If records of its tasks have changed meanwhile, the
 * records are read again. The same bytes keep their place while all records want the same.
 *
 * @throws StaleWalletError
 */
export async function storeTransactionIfCurrent(
  ports: WalletPorts,
  run: WalletRun,
  feature: WalletFeature,
  made: SignedTransaction,
): Promise<StoreResult> {
  const tasks = made.members.map(({ task }) => task);
  for (let storing = 1; ; storing++) {
    try {
      return await storeNewTransaction(ports, run, made);
    } catch (error) {
      if (
        !(error instanceof RecordChangedError) ||
        !feature.filterCurrent ||
        storing === MAX_STORE_ATTEMPTS
      )
        throw error;
      const unchanged = feature.filterCurrent;
      const { result, errors } = await isolateFailures(tasks, (some) => unchanged(some));
      if (errors.length > 0) {
        const failures = errors.map(({ item, error }) => ({ task: item, error }));
        return { is: "failed", failures };
      }
      if ((result ?? []).length < tasks.length) return { is: "changed" };
    }
  }
}

function createWriteContext({ newId, features }: WalletPorts, now: number) {
  return { op: newId(now), revisions: features.map(({ revision }) => revision) };
}
