import { type Block, ProviderError } from "../../chain/provider/provider.ts";
import { isOpen, isWaiting } from "../model/phases.ts";
import type { WalletTransaction } from "../model/wallet-transaction.ts";
import { findEarliest, nextProviderTry } from "../queue/backoff.ts";
import { describeProviderFailure } from "../queue/outcome.ts";
import { type Blocker, storeBlocker } from "./blocker.ts";
import { buildTransactions, CHECK_MS, hasDeadline } from "./build-transactions.ts";
import { toTransient } from "./building/members.ts";
import type { WalletPorts, WalletRun } from "./context/wallet-ports.ts";
import { readDue } from "./isolation/read-due.ts";
import { reportFailures } from "./isolation/report-failures.ts";
import { findReplaced, pollChain } from "./poll-chain.ts";
import { restoreFromJournal } from "./restore-from-journal.ts";
import { resend } from "./send-transactions.ts";
import { readUnsettled } from "./store/transactions.ts";
import { readWallet } from "./store/wallet.ts";
import { repeatUpdates, storeEvents } from "./store-updates.ts";

/** How often stored transactions are sent again without a look at the chain. */
const BLIND_MS = 30_000;
const HALTED = "the database was restored: the wallet sends nothing until the sync has caught up";

/**
 * Whether the wallet has just polled the chain up to this tip. Every new task wakes the wallet, but pending
 * transactions are polled only every few seconds.
 */
function isSeen({ view: { lastPoll: looked }, now }: WalletPorts, tip: Block): boolean {
  return looked !== null && looked.tip === tip.hash && now() - looked.at < CHECK_MS;
}

/**
 * Has the sources read whose transactions have come to count.
 *
 * @param tip - up to which it was looked; null: the look was broken off
 */
async function tellConfirmed(
  ports: WalletPorts,
  before: WalletRun,
  after: WalletRun,
  tip: Block | null,
): Promise<void> {
  const counted = new Set(before.open.filter(isCounted).map(({ hash }) => hash));
  const found = after.open.filter((one) => isCounted(one) && !counted.has(one.hash));
  if (found.length > 0)
    await ports.onConfirmed(new Set(found.map(({ sourceId }) => sourceId)), tip);
}

const isCounted = ({ phase }: WalletTransaction) => phase === "Confirmed";

/**
 * Runs a wallet once. The run polls the chain, resends pending transactions, and builds, stores and sends new
 * ones without waiting for blocks. It may stop at any point, since the next run needs stored data only.
 *
 * @returns the next time to run, epoch milliseconds. Null: nothing waits.
 * @throws DatabaseUnavailable, StaleWalletError. Neither loses data.
 */
export async function runWallet(ports: WalletPorts): Promise<number | null> {
  const { db, network, vkey, features } = ports;
  const wallet = await readWallet(db, network, vkey);
  const unsettled = await readUnsettled(db, network, vkey);
  const open = unsettled.filter(({ phase }) => isOpen(phase));
  const late = unsettled.filter(({ phase }) => !isOpen(phase));
  const repeated = await repeatUpdates(ports, { wallet, open, late });
  const now = ports.now();
  const due = await Promise.all(features.map((feature) => readDue(ports, feature, now)));
  const hasTasks = due.some(({ tasks, failures }) => tasks.length + failures.length > 0);
  const tell = (hold: Blocker) => storeBlocker(db, repeated.run.wallet, hold, ports.now());
  if (repeated.run.open.length === 0 && !hasTasks) {
    const later = findEarliest(due.map(({ next }) => next));
    await tell(later === null ? null : undefined);
    return findEarliest([later, repeated.next]);
  }
  const run = await restoreFromJournal(ports, repeated.run);
  if (typeof run === "number") {
    await tell({ code: "chain", reason: HALTED });
    return run;
  }
  const isHurried = due.some(({ tasks }) => hasDeadline(tasks));
  const provider = isHurried ? ports.deadlineProvider : ports.provider;
  let tip: Block;
  let looked = run;
  try {
    tip = await ports.view.tip(provider, ports.now());
    if (!isSeen(ports, tip))
      for await (const events of pollChain(provider, run.open, tip, ports.threshold))
        looked = await storeEvents(ports, looked, events);
    looked = await storeEvents(ports, looked, await findReplaced(ports, looked.open));
  } catch (error) {
    if (!(error instanceof ProviderError)) throw error;
    // What is stored may be taken by another place than a provider that bans.
    const { open } = await resend(ports, looked, null);
    await tellConfirmed(ports, run, looked, null);
    const failure = toTransient(error);
    for (const [i, feature] of features.entries()) {
      const failures = due[i]?.tasks.map((task) => ({ task, error: failure })) ?? [];
      await reportFailures(ports, feature, failures, ports.now());
    }
    await tell({ code: "provider", reason: describeProviderFailure(error) });
    if (hasTasks) return ports.now();
    const again = ports.now() + BLIND_MS;
    const isWaited = open.some(({ phase }) => isWaiting(phase));
    return isWaited ? again : nextProviderTry(error.retryAt, ports.now());
  }
  await tellConfirmed(ports, run, looked, tip);
  if (!isSeen(ports, tip)) ports.view.lastPoll = { tip: tip.hash, at: ports.now() };
  const sent = await resend(ports, looked, tip);
  const { run: built, next, hold } = await buildTransactions(ports, sent, tip);
  await tell(hold);
  const isUnderWay = built.open.some(({ phase }) => isWaiting(phase) || phase === "InBlock");
  return findEarliest([next, repeated.next, isUnderWay ? ports.now() + CHECK_MS : null]);
}
