/** What a wallet does about a database that was set back to an earlier state. */
import { log } from "../../log.ts";
import type { WalletPorts, WalletRun } from "./context/wallet-ports.ts";
import type {
  EnterResult,
  HighestCounts,
  JournalEntry,
  StaleReadResult,
  StoredCounts,
} from "./model/journal.ts";
import { fromJournalEntry } from "./model/serialize-transaction.ts";
import { findKnownHashes } from "./store/transactions.ts";
import { countStoredTransactions } from "./store/wallet.ts";
import { restoreTransactions } from "./store-updates.ts";

/** How often sources are asked whether they have followed the chain. */
const HALT_CHECK_INTERVAL_MS = 30_000;

/**
 * Restores transactions that a restored database has forgotten. All wallets of the network halt until the
 * forgotten transactions have expired and the records have followed the chain. Then each wallet restores its
 * own from the journal.
 *
 * @param stored - as read with the wallet
 * @returns the wallet, or the time of the next try, epoch milliseconds
 */
export async function restoreFromJournal(
  ports: WalletPorts,
  run: WalletRun,
  stored: StoredCounts,
): Promise<WalletRun | number> {
  const { db, network, journal } = ports;
  const now = ports.now();
  const enterJournal = (known: StoredCounts | null) =>
    queryJournal<EnterResult>(ports, known, ({ total, each }, after) =>
      journal.enter(total, now, after, each),
    );
  let entry = await enterJournal(stored);
  // Each portion is stored separately, so an interrupted run keeps its progress.
  for (let known = run; entry.haltedUntil === null; entry = await enterJournal(null)) {
    if (entry.forgotten.length === 0) return known;
    known = await restoreEntries(ports, known, entry.forgotten);
  }
  if (now >= entry.haltedUntil && (await ports.areSourcesSynced(entry.haltedUntil))) {
    const { total, each } = await countStoredTransactions(db, network);
    await journal.resume(total, each);
    return now;
  }
  log("warn", "wallet.halted", { network, wallet: ports.vkey, until: entry.haltedUntil });
  return Math.max(entry.haltedUntil, now + HALT_CHECK_INTERVAL_MS);
}

/**
 * Asks the journal whether the database, as it was read, has all that was handed over. Another wallet may have
 * stored and handed over more since. Then the database is read once more.
 *
 * @param known - how many transactions are stored, as read just now; null: it is read first
 */
export async function queryJournal<Answer>(
  { db, network }: Pick<WalletPorts, "db" | "network">,
  known: StoredCounts | null,
  ask: (stored: StoredCounts, after: HighestCounts | null) => Promise<Answer | StaleReadResult>,
): Promise<Answer> {
  let stored = known;
  for (let after: HighestCounts | null = null; ; ) {
    stored ??= await countStoredTransactions(db, network);
    const answer = await ask(stored, after);
    if (!isStaleRead(answer)) return answer;
    after = answer.highest;
    stored = null;
  }
}

const isStaleRead = (answer: unknown): answer is StaleReadResult =>
  typeof answer === "object" && answer !== null && "highest" in answer;

async function restoreEntries(
  ports: WalletPorts,
  run: WalletRun,
  forgotten: readonly JournalEntry[],
): Promise<WalletRun> {
  const { db, network, journal } = ports;
  const hashes = forgotten.map(({ hash }) => hash);
  const known = await findKnownHashes(db, hashes);
  const now = ports.now();
  const lost = forgotten
    .filter(({ hash }) => !known.has(hash))
    .map((one, i) => ({
      ...fromJournalEntry(one, now),
      sequence: run.wallet.sequence + i + 1,
    }));
  const after = lost.length === 0 ? run : await restoreTransactions(ports, run, lost);
  await journal.markRestored(hashes, (await countStoredTransactions(db, network)).total);
  return after;
}
