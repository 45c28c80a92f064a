import { type Block, ProviderError } from "../chain/provider/provider.ts";
import { earliest, providerAgainAt } from "./pauses.ts";
import { build, CHECK_MS, hasDeadline } from "./spending/build.ts";
import { readDue } from "./spending/isolation/read-due.ts";
import { reportFailures } from "./spending/isolation/report-failures.ts";
import { isOpen, isWaiting } from "./spending/life.ts";
import { look, overtaken } from "./spending/look.ts";
import { beforeTasks } from "./spending/making/members.ts";
import type { Run, WalletPorts } from "./spending/ports.ts";
import { happen, repeatUpdates, takeOver } from "./spending/record.ts";
import { sendAgain } from "./spending/send.ts";
import { readUnsettled } from "./spending/stored/transactions.ts";
import { readWallet } from "./spending/stored/wallet.ts";
import type { WalletTransaction } from "./spending/transaction.ts";
import { type Hold, waitsForProvider, writeHold } from "./spending/trouble/hold.ts";
import { afterRestore } from "./spending/trouble/restored.ts";

/** How often stored transactions are sent again without a look at the chain. */
const BLIND_MS = 30_000;
const HALTED = "the database was set back: nothing is sent until the chain has been followed again";

/**
 * Whether the wallet has looked at the chain up to this tip just now: it is woken for each task, and what no
 * block had is asked for again only as often as a provider may show it late.
 */
function isSeen({ view: { looked }, now }: WalletPorts, tip: Block): boolean {
  return looked !== null && looked.tip === tip.hash && now() - looked.at < CHECK_MS;
}

/**
 * Has the sources read whose transactions have come to count.
 *
 * @param tip - up to which it was looked; null: the look was broken off
 */
async function tellConfirmed(
  ports: WalletPorts,
  before: Run,
  after: Run,
  tip: Block | null,
): Promise<void> {
  const counted = new Set(before.open.filter(isCounted).map(({ hash }) => hash));
  const found = after.open.filter((one) => isCounted(one) && !counted.has(one.hash));
  if (found.length > 0) await ports.confirmed(new Set(found.map(({ sourceId }) => sourceId)), tip);
}

const isCounted = ({ phase }: WalletTransaction) => phase === "Confirmed";

/**
 * Lets a wallet do what can be done now: sees what became of its transactions, sends again what no
 * block has, and builds, stores and sends new ones without waiting for blocks. A later run needs only
 * what was stored, so it may stop at any point.
 *
 * @returns when to continue, epoch milliseconds; null when nothing waits
 * @throws DatabaseUnavailable, StaleWallet: nothing is lost with any of them
 */
export async function runWallet(ports: WalletPorts): Promise<number | null> {
  const { db, network, vkey, works } = ports;
  const wallet = await readWallet(db, network, vkey);
  const unsettled = await readUnsettled(db, network, vkey);
  const open = unsettled.filter(({ phase }) => isOpen(phase));
  const late = unsettled.filter(({ phase }) => !isOpen(phase));
  const repeated = await repeatUpdates(ports, { wallet, open, late });
  const known = await takeOver(ports, repeated.run);
  const now = ports.now();
  const due = await Promise.all(works.map((work) => readDue(ports, work, now)));
  const hasTasks = due.some(({ tasks, failures }) => tasks.length + failures.length > 0);
  const tell = (hold: Hold) => writeHold(db, known.wallet, hold, ports.now());
  if (known.open.length === 0 && !hasTasks) {
    const later = earliest(due.map(({ next }) => next));
    await tell(later === null ? null : undefined);
    return earliest([later, repeated.next]);
  }
  const run = await afterRestore(ports, known);
  if (typeof run === "number") {
    await tell(HALTED);
    return run;
  }
  const isHurried = due.some(({ tasks }) => hasDeadline(tasks));
  const provider = isHurried ? ports.deadlineProvider : ports.provider;
  let tip: Block;
  let looked = run;
  try {
    tip = await ports.view.tip(provider, ports.now());
    if (!isSeen(ports, tip))
      for await (const happenings of look(provider, run.open, tip, ports.threshold))
        looked = await happen(ports, looked, happenings);
    looked = await happen(ports, looked, await overtaken(ports, looked.open));
  } catch (error) {
    if (!(error instanceof ProviderError)) throw error;
    // What is stored may be taken by another place than a provider that bans.
    const { open } = await sendAgain(ports, looked, null);
    await tellConfirmed(ports, run, looked, null);
    const failure = beforeTasks(error);
    for (const [i, work] of works.entries()) {
      const failures = due[i]?.tasks.map((task) => ({ task, error: failure })) ?? [];
      await reportFailures(ports, work, failures, ports.now());
    }
    await tell(waitsForProvider(error));
    if (hasTasks) return ports.now();
    const again = ports.now() + BLIND_MS;
    const isWaited = open.some(({ phase }) => isWaiting(phase));
    return isWaited ? again : providerAgainAt(error.retryAt, ports.now());
  }
  await tellConfirmed(ports, run, looked, tip);
  if (!isSeen(ports, tip)) ports.view.looked = { tip: tip.hash, at: ports.now() };
  const sent = await sendAgain(ports, looked, tip);
  const { run: built, next, hold } = await build(ports, sent, tip);
  await tell(hold);
  const isUnderWay = built.open.some(({ phase }) => isWaiting(phase) || phase === "InBlock");
  return earliest([next, repeated.next, isUnderWay ? ports.now() + CHECK_MS : null]);
}
