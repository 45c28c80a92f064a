import { type Block, ProviderError } from "../../chain/provider/provider.ts";
import { isActive, isOpen, isPending } from "../model/phases.ts";
import type { WalletTransaction } from "../model/wallet-transaction.ts";
import { computeProviderRetryAt, findEarliestTime } from "../queue/backoff.ts";
import { describeProviderFailure } from "../queue/outcome.ts";
import { type Blocker, storeBlocker } from "./blocker.ts";
import { buildTransactions, hasDeadline, POLL_INTERVAL_MS } from "./build-transactions.ts";
import { readStoredContext } from "./building/build-transaction.ts";
import { toTransientError } from "./building/exclude-bad-members.ts";
import type { WalletPorts, WalletRun } from "./context/wallet-ports.ts";
import { readAllDueTasks } from "./isolation/read-due-tasks.ts";
import { reportFailures } from "./isolation/report-failures.ts";
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
function isTipPolled({ view: { lastPoll: looked }, now }: WalletPorts, tip: Block): boolean {
  return looked !== null && looked.tip === tip.hash && now() - looked.at < POLL_INTERVAL_MS;
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

/**
 * Runs a wallet once. The run polls the chain, resends pending transactions, and builds, stores and sends new
 * ones without waiting for blocks. It may stop at any point, since the next run needs stored data only.
 *
 * @returns the next time to run, epoch milliseconds. Null: nothing waits.
 * @throws DatabaseUnavailableError, StaleWalletError. Neither loses data.
 */
export async function runWallet(ports: WalletPorts): Promise<number | null> {
  const { db, network, vkey, features } = ports;
  // All at once: the database answers reads that begin together in one call.
  const [wallet, unsettled, storedCounts, firstDue, storedContext] = await Promise.all([
    readWallet(db, network, vkey),
    readUnsettledTransactions(db, network, vkey),
    countStoredTransactions(db, network),
    readAllDueTasks(ports),
    readStoredContext(ports),
  ]);
  const first: WalletRun = {
    wallet,
    openTransactions: unsettled.filter(({ phase }) => isOpen(phase)),
    unsettledTransactions: unsettled.filter(({ phase }) => !isOpen(phase)),
  };
  const repeated = await retryFailedUpdates(ports, first);
  const due = repeated.run === first ? firstDue : await readAllDueTasks(ports);
  const hasTasks = due.some(({ tasks, failures }) => tasks.length + failures.length > 0);
  const storeRunBlocker = (hold: Blocker) =>
    storeBlocker(db, repeated.run.wallet, hold, ports.now());
  if (repeated.run.openTransactions.length === 0 && !hasTasks) {
    const later = findEarliestTime(due.map(({ nextDueAt: next }) => next));
    await storeRunBlocker(later === null ? null : undefined);
    return findEarliestTime([later, repeated.next]);
  }
  const run = await restoreFromJournal(ports, repeated.run, storedCounts);
  if (typeof run === "number") {
    await storeRunBlocker({ code: "chain", reason: HALTED_REASON });
    return run;
  }
  const isHurried = due.some(({ tasks }) => hasDeadline(tasks));
  const provider = isHurried ? ports.deadlineProvider : ports.provider;
  let tip: Block;
  let looked = run;
  try {
    tip = await ports.view.loadTip(provider, ports.now());
    if (!isTipPolled(ports, tip))
      for await (const events of pollChain(
        provider,
        run.openTransactions,
        tip,
        ports.confirmationThreshold,
      ))
        looked = await storeEvents(ports, looked, events);
    looked = await storeEvents(
      ports,
      looked,
      await findReplacedTransactions(ports, looked.openTransactions),
    );
  } catch (error) {
    if (!(error instanceof ProviderError)) throw error;
    // What is stored may be taken by another place than a provider that bans.
    const { openTransactions: open } = await resendPendingTransactions(ports, looked, null);
    await notifyConfirmed(ports, run, looked, null);
    const failure = toTransientError(error);
    for (const [i, feature] of features.entries()) {
      const failures = due[i]?.tasks.map((task) => ({ task, error: failure })) ?? [];
      await reportFailures(ports, feature, failures, ports.now());
    }
    await storeRunBlocker({ code: "provider", reason: describeProviderFailure(error) });
    if (hasTasks) return ports.now();
    const again = ports.now() + RESEND_INTERVAL_MS;
    const isWaited = open.some(({ phase }) => isPending(phase));
    return isWaited ? again : computeProviderRetryAt(error.retryAt, ports.now());
  }
  await notifyConfirmed(ports, run, looked, tip);
  if (!isTipPolled(ports, tip)) ports.view.lastPoll = { tip: tip.hash, at: ports.now() };
  const sent = await resendPendingTransactions(ports, looked, tip);
  // What is due changes when a transaction ends or comes back.
  const hasChanged = listActiveHashes(sent) !== listActiveHashes(repeated.run);
  const {
    run: built,
    nextDueAt: next,
    blocker: hold,
  } = await buildTransactions(ports, sent, tip, {
    due: hasChanged ? await readAllDueTasks(ports) : due,
    storedContext,
  });
  await storeRunBlocker(hold);
  const isUnderWay = built.openTransactions.some(
    ({ phase }) => isPending(phase) || phase === "InBlock",
  );
  return findEarliestTime([
    next,
    repeated.next,
    isUnderWay ? ports.now() + POLL_INTERVAL_MS : null,
  ]);
}
