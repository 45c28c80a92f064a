/** What a wallet does about a database that was set back to an earlier state. */
import { log } from "../../../log.ts";
import type { Handed } from "../journal.ts";
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
  const stored = await storedSoFar(db, network);
  const entry = await journal.enter(stored, now);
  if (entry.haltedUntil === null) return rememberAll(ports, run, entry.forgotten);
  if (now >= entry.haltedUntil && (await ports.hasFollowed(entry.haltedUntil))) {
    await journal.resume(stored);
    return now;
  }
  log("warn", "wallet.halted", { network, wallet: ports.vkey, until: entry.haltedUntil });
  return Math.max(entry.haltedUntil, now + LOOK_AGAIN_MS);
}

async function rememberAll(
  ports: WalletPorts,
  run: Run,
  forgotten: readonly Handed[],
): Promise<Run> {
  if (forgotten.length === 0) return run;
  const { db, network, journal } = ports;
  const known = await knownOf(
    db,
    forgotten.map(({ hash }) => hash),
  );
  const now = ports.now();
  const lost = forgotten
    .filter(({ hash }) => !known.has(hash))
    .map((one, i) => ({
      ...transactionHanded(one, now),
      sequence: run.wallet.sequence + i + 1,
    }));
  const after = lost.length === 0 ? run : await remember(ports, run, lost);
  await journal.remembered(await storedSoFar(db, network));
  return after;
}
