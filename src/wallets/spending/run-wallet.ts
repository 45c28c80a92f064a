import { type Block, ProviderError } from "../../chain/provider/provider.ts";
import { isActive, isOpen, isPending } from "../model/phases.ts";
import type { WalletTransaction } from "../model/wallet-transaction.ts";
import { computeProviderRetryAt, findEarliestTime } from "../queue/backoff.ts";
import { describeProviderFailure } from "../queue/outcome.ts";
import { type Blocker, storeBlocker } from "./blocker.ts";
import {
  buildTransactions,
  hasDeadline,
  POLL_INTERVAL_MS,
  type StoredWork,
} from "./build-transactions.ts";
import { readStoredContext } from "./building/build-transaction.ts";
import { toTransientError } from "./building/exclude-bad-members.ts";
import type { WalletPorts, WalletRun } from "./context/wallet-ports.ts";
import { readAllDueTasks } from "./isolation/read-due-tasks.ts";
import { reportFailures } from "./isolation/report-failures.ts";
import type { StoredCounts } from "./model/journal.ts";
import { findReplacedTransactions, pollChain } from "./poll-chain.ts";
import { restoreFromJournal } from "./restore-from-journal.ts";
import { resendPendingTransactions } from "./send-transactions.ts";
import { readUnsettledTransactions } from "./store/transactions.ts";
import { countStoredTransactions, readWallet } from "./store/wallet.ts";
import { retryFailedUpdates, storeEvents } from "./store-updates.ts";

/** How often stored transactions are sent again without a look at the chain. */
const RESEND_INTERVAL_MS = 30_000;
const HALTED_REASON =
  "the database was restored: the wallet sends nothing until the sync has caught up";

/**
 * Whether the wallet has just polled the chain up to this tip. Every new task wakes the wallet, but pending
 * transactions are polled only every few seconds.
 */
function isTipPolled({ view: { lastPoll }, now }: WalletPorts, tip: Block): boolean {
  return lastPoll !== null && lastPoll.tip === tip.hash && now() - lastPoll.at < POLL_INTERVAL_MS;
}

/**
 * Has the sources read whose transactions have come to count.
 *
 * @param tip - up to which it was looked; null: the look was broken off
 */
async function notifyConfirmed(
  ports: WalletPorts,
  before: WalletRun,
  after: WalletRun,
  tip: Block | null,
): Promise<void> {
  const counted = new Set(before.openTransactions.filter(isConfirmed).map(({ hash }) => hash));
  const found = after.openTransactions.filter((one) => isConfirmed(one) && !counted.has(one.hash));
  if (found.length > 0)
    await ports.onConfirmed(new Set(found.map(({ sourceId }) => sourceId)), tip);
}

const isConfirmed = ({ phase }: WalletTransaction) => phase === "Confirmed";

const listActiveHashes = ({ openTransactions }: WalletRun) =>
  openTransactions.flatMap(({ hash, phase }) => (isActive(phase) ? [hash] : [])).join();

/** A wallet as a run reads the database. */
interface StoredRun extends StoredWork {
  run: WalletRun;
  storedCounts: StoredCounts;
  /** When a failed record update is repeated next, epoch milliseconds. Null: none has failed. */
  nextRetryAt: number | null;
}

/** A wallet after a poll of the chain, which the provider may have broken off. */
type PolledRun = { run: WalletRun } & ({ tip: Block } | { error: ProviderError });

const hasTasks = ({ due }: StoredWork): boolean =>
  due.some(({ tasks, failures }) => tasks.length + failures.length > 0);

/**
 * Runs a wallet once. The run polls the chain, resends pending transactions, and builds, stores and sends new
 * ones without waiting for blocks. It may stop at any point, since the next run needs stored data only.
 *
 * @returns the next time to run, epoch milliseconds. Null: nothing waits.
 * @throws DatabaseUnavailableError, StaleWalletError. Neither loses data.
 */
export async function runWallet(ports: WalletPorts): Promise<number | null> {
  const stored = await readStoredRun(ports);
  const { run, due, storedCounts, nextRetryAt } = stored;
  if (run.openTransactions.length === 0 && !hasTasks(stored)) {
    const later = findEarliestTime(due.map(({ nextDueAt }) => nextDueAt));
    await storeRunBlocker(ports, run, later === null ? null : undefined);
    return findEarliestTime([later, nextRetryAt]);
  }
  const restored = await restoreFromJournal(ports, run, storedCounts);
  if (typeof restored === "number") {
    await storeRunBlocker(ports, run, { code: "chain", reason: HALTED_REASON });
    return restored;
  }
  const polled = await pollOpenTransactions(ports, restored, due);
  if ("error" in polled) return endBrokenPoll(ports, stored, restored, polled);
  await notifyConfirmed(ports, restored, polled.run, polled.tip);
  return sendTransactions(ports, stored, polled);
}

/** Reads a wallet and its due tasks, and repeats record updates that have failed. */
async function readStoredRun(ports: WalletPorts): Promise<StoredRun> {
  const { db, network, vkey } = ports;
  // All at once: the database answers reads that begin together in one call.
  const [wallet, unsettled, storedCounts, due, storedContext] = await Promise.all([
    readWallet(db, network, vkey),
    readUnsettledTransactions(db, network, vkey),
    countStoredTransactions(db, network),
    readAllDueTasks(ports),
    readStoredContext(ports),
  ]);
  const read: WalletRun = {
    wallet,
    openTransactions: unsettled.filter(({ phase }) => isOpen(phase)),
    unsettledTransactions: unsettled.filter(({ phase }) => !isOpen(phase)),
  };
  const { run, nextRetryAt } = await retryFailedUpdates(ports, read);
  return {
    run,
    storedCounts,
    nextRetryAt,
    due: run === read ? due : await readAllDueTasks(ports),
    storedContext,
  };
}

/** Stores what the chain has made of the open transactions. */
async function pollOpenTransactions(
  ports: WalletPorts,
  restored: WalletRun,
  due: StoredWork["due"],
): Promise<PolledRun> {
  const isHurried = due.some(({ tasks }) => hasDeadline(tasks));
  const provider = isHurried ? ports.deadlineProvider : ports.provider;
  let run = restored;
  try {
    const tip = await ports.view.loadTip(provider, ports.now());
    if (!isTipPolled(ports, tip))
      for await (const events of pollChain(
        provider,
        restored.openTransactions,
        tip,
        ports.confirmationThreshold,
      ))
        run = await storeEvents(ports, run, events);
    const replaced = await findReplacedTransactions(ports, run.openTransactions);
    return { run: await storeEvents(ports, run, replaced), tip };
  } catch (error) {
    if (!(error instanceof ProviderError)) throw error;
    return { run, error };
  }
}

/** Ends a run whose provider broke off the poll. @returns the next time to run, epoch milliseconds */
async function endBrokenPoll(
  ports: WalletPorts,
  stored: StoredRun,
  restored: WalletRun,
  { run, error }: Extract<PolledRun, { error: ProviderError }>,
): Promise<number> {
  // What is stored may be taken by another place than a provider that bans.
  const { openTransactions } = await resendPendingTransactions(ports, run, null);
  await notifyConfirmed(ports, restored, run, null);
  const failure = toTransientError(error);
  for (const [i, feature] of ports.features.entries()) {
    const failures = stored.due[i]?.tasks.map((task) => ({ task, error: failure })) ?? [];
    await reportFailures(ports, feature, failures, ports.now());
  }
  await storeRunBlocker(ports, run, { code: "provider", reason: describeProviderFailure(error) });
  if (hasTasks(stored)) return ports.now();
  return openTransactions.some(({ phase }) => isPending(phase))
    ? ports.now() + RESEND_INTERVAL_MS
    : computeProviderRetryAt(error.retryAt, ports.now());
}

/** Resends pending transactions, and builds new ones. @returns as `runWallet` */
async function sendTransactions(
  ports: WalletPorts,
  stored: StoredRun,
  { run, tip }: Extract<PolledRun, { tip: Block }>,
): Promise<number | null> {
  if (!isTipPolled(ports, tip)) ports.view.lastPoll = { tip: tip.hash, at: ports.now() };
  const resent = await resendPendingTransactions(ports, run, tip);
  // What is due changes when a transaction ends or comes back.
  const hasChanged = listActiveHashes(resent) !== listActiveHashes(stored.run);
  const built = await buildTransactions(ports, resent, tip, {
    due: hasChanged ? await readAllDueTasks(ports) : stored.due,
    storedContext: stored.storedContext,
  });
  await storeRunBlocker(ports, built.run, built.blocker);
  const isUnderWay = built.run.openTransactions.some(
    ({ phase }) => isPending(phase) || phase === "InBlock",
  );
  return findEarliestTime([
    built.nextDueAt,
    stored.nextRetryAt,
    isUnderWay ? ports.now() + POLL_INTERVAL_MS : null,
  ]);
}

const storeRunBlocker = (ports: WalletPorts, { wallet }: WalletRun, blocker: Blocker) =>
  storeBlocker(ports.db, wallet, blocker, ports.now());
