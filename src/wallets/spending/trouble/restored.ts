/** What a wallet does about a database that was set back to an earlier state. */
import { log } from "../../../log.ts";
import type { Entry, Handed, Highest, ReadAgain, Stored } from "../journal.ts";
import type { Run, WalletPorts } from "../ports.ts";
import { remember } from "../record.ts";
import { knownOf } from "../stored/transactions.ts";
import { storedSoFar } from "../stored/wallet.ts";
import { transactionHanded } from "../written.ts";

/** How often sources are asked whether they have followed the chain. */
const LOOK_AGAIN_MS = 30_000;

/**
 * Makes sure that the database knows all that the wallet ever handed to a node. If it was set back, all
 * wallets of the network stop until what they handed over is not valid any more and the records have
 * followed the chain; then each learns of its own transactions from the journal.
 *
 * @returns the wallet with them, or when to ask again, epoch milliseconds
 */
export async function afterRestore(ports: WalletPorts, run: Run): Promise<Run | number> {
  const { db, network, journal } = ports;
  const now = ports.now();
  const enter = () =>
    askJournal<Entry>(ports, ({ total, each }, after) => journal.enter(total, now, after, each));
  let entry = await enter();
  // Each portion is stored by itself: a run that ends early has got so far.
  for (let known = run; entry.haltedUntil === null; entry = await enter()) {
    if (entry.forgotten.length === 0) return known;
    known = await rememberSome(ports, known, entry.forgotten);
  }
  if (now >= entry.haltedUntil && (await ports.hasFollowed(entry.haltedUntil))) {
    const { total, each } = await storedSoFar(db, network);
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
  ask: (stored: Stored, after: Highest | null) => Promise<Answer | ReadAgain>,
): Promise<Answer> {
  for (let after: Highest | null = null; ; ) {
    const answer = await ask(await storedSoFar(db, network), after);
    if (!isReadAgain(answer)) return answer;
    after = answer.highest;
  }
}

const isReadAgain = (answer: unknown): answer is ReadAgain =>
  typeof answer === "object" && answer !== null && "highest" in answer;

async function rememberSome(
  ports: WalletPorts,
  run: Run,
  forgotten: readonly Handed[],
): Promise<Run> {
  const { db, network, journal } = ports;
  const hashes = forgotten.map(({ hash }) => hash);
  const known = await knownOf(db, hashes);
  const now = ports.now();
  const lost = forgotten
    .filter(({ hash }) => !known.has(hash))
    .map((one, i) => ({
      ...transactionHanded(one, now),
      sequence: run.wallet.sequence + i + 1,
    }));
  const after = lost.length === 0 ? run : await remember(ports, run, lost);
  await journal.remembered(hashes, (await storedSoFar(db, network)).total);
  return after;
}
