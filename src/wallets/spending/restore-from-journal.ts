/** What a wallet does about a database that was set back to an earlier state. */
import { log } from "../../log.ts";
import type { WalletPorts, WalletRun } from "./context/wallet-ports.ts";
import type {
  EnterResult,
  HighestCounts,
  JournalEntry,
  ReadAgain,
  StoredCounts,
} from "./model/journal.ts";
import { fromJournalEntry } from "./model/serialize-transaction.ts";
import { findKnown } from "./store/transactions.ts";
import { countStored } from "./store/wallet.ts";
import { storeForgotten } from "./store-updates.ts";

/** How often sources are asked whether they have followed the chain. */
const LOOK_AGAIN_MS = 30_000;

/**
 * Restores transactions that a restored database has forgotten. All wallets of the network halt until the
 * forgotten transactions have expired and the records have followed the chain. Then each wallet restores its
 * own from the journal.
 *
 * @returns the wallet, or the time of the next try, epoch milliseconds
 */
export async function restoreFromJournal(
  ports: WalletPorts,
  run: WalletRun,
): Promise<WalletRun | number> {
  const { db, network, journal } = ports;
  const now = ports.now();
  const enter = () =>
    askJournal<EnterResult>(ports, ({ total, each }, after) =>
      journal.enter(total, now, after, each),
    );
  let entry = await enter();
  // Each portion is stored separately, so an interrupted run keeps its progress.
  for (let known = run; entry.haltedUntil === null; entry = await enter()) {
    if (entry.forgotten.length === 0) return known;
    known = await restoreSome(ports, known, entry.forgotten);
  }
  if (now >= entry.haltedUntil && (await ports.hasFollowed(entry.haltedUntil))) {
    const { total, each } = await countStored(db, network);
    await journal.resume(total, each);
    return now;
  }
  log("warn", "wallet.halted", { network, wallet: ports.vkey, until: entry.haltedUntil });
  return Math.max(entry.haltedUntil, now + LOOK_AGAIN_MS);
}

/**
 * Asks the journal whether the database, as it was read, has all that was handed over. Another wallet may have
 * stored and handed over more since it was read: then it is read once more, and judged by that.
 */
export async function askJournal<Answer>(
  { db, network }: Pick<WalletPorts, "db" | "network">,
  ask: (stored: StoredCounts, after: HighestCounts | null) => Promise<Answer | ReadAgain>,
): Promise<Answer> {
  for (let after: HighestCounts | null = null; ; ) {
    const answer = await ask(await countStored(db, network), after);
    if (!isReadAgain(answer)) return answer;
    after = answer.highest;
  }
}

const isReadAgain = (answer: unknown): answer is ReadAgain =>
  typeof answer === "object" && answer !== null && "highest" in answer;

async function restoreSome(
  ports: WalletPorts,
  run: WalletRun,
  forgotten: readonly JournalEntry[],
): Promise<WalletRun> {
  const { db, network, journal } = ports;
  const hashes = forgotten.map(({ hash }) => hash);
  const known = await findKnown(db, hashes);
  const now = ports.now();
  const lost = forgotten
    .filter(({ hash }) => !known.has(hash))
    .map((one, i) => ({
      ...fromJournalEntry(one, now),
      sequence: run.wallet.sequence + i + 1,
    }));
  const after = lost.length === 0 ? run : await storeForgotten(ports, run, lost);
  await journal.markRestored(hashes, (await countStored(db, network)).total);
  return after;
}
