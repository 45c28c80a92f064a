import { NETWORKS, type Network } from "../chain/network.ts";
import { type Database, db } from "../db/client.ts";
import type { Env } from "../env.ts";

/** A task that nobody has tried for so long is not being done: the cron wakes wallets each minute. */
const OVERDUE_MS = 90_000;
/** So many failed tries mean that a task will not do by itself. */
const MANY_FAILURES = 2;
/** What holds up a whole wallet for so long does not pass by itself, as a full line or an epoch's end do. */
const HELD_MS = 5 * 60_000;
/** Rows that are looked at, of each table and network. */
const MOST_LOOKED_AT = 10_000;

/** A wallet that does not do what it shall. */
export interface StuckWallet {
  network: Network;
  /** Payment key hash, hex; null: no wallet could be chosen. */
  vkey: string | null;
  /** The payment source that asked for what is not done; null: it is not known. */
  sourceId: string | null;
  /** Tasks that are known not to be done. */
  waiting: number;
  /** Of one of them, for people. */
  reason: string;
}

/**
 * Wallets with tasks that failed more than once, that lack funds for a purchase, that nobody tries, or that
 * something has held up for long. What waits for the provider or for the chain is not counted.
 *
 * @param deadline - epoch milliseconds, as `now`
 * @throws DatabaseUnavailable
 */
export async function stuckWallets(
  env: Pick<Env, "DB">,
  deadline: number,
  now: number,
): Promise<StuckWallet[]> {
  const each = await Promise.all(
    NETWORKS.map(async (network) => {
      const ledger = db(env, network, { deadline });
      const found = await Promise.all([
        tasksOf(ledger, network, "transfer", "Pending", now),
        tasksOf(ledger, network, "registration", "*Requested", now),
        shortPurchases(ledger, network),
        heldUp(ledger, network, now),
      ]);
      const byWallet = Map.groupBy(found.flat(), ({ vkey, sourceId }) => vkey ?? sourceId ?? "");
      return [...byWallet.values()].flatMap(([first, ...others]) => {
        if (first === undefined) return [];
        const waiting = others.reduce((sum, one) => sum + one.waiting, first.waiting);
        return [{ ...first, network, waiting }];
      });
    }),
  );
  return each.flat();
}

type Row = Omit<StuckWallet, "network">;

/** Of a table with an index of the rows that have a `due_at`. */
function tasksOf(
  ledger: Database,
  network: Network,
  table: "transfer" | "registration",
  states: string,
  now: number,
): Promise<Row[]> {
  return ledger.all(
    `SELECT wallet_vkey AS vkey, min(source_id) AS sourceId, count(*) AS waiting,
       ifnull(max(error), 'nobody has tried it for too long') AS reason
     FROM (SELECT wallet_vkey, source_id, error, failures, due_at FROM ${table}
           WHERE network = ? AND due_at IS NOT NULL AND state GLOB ? LIMIT ${MOST_LOOKED_AT})
     WHERE failures >= ${MANY_FAILURES} OR due_at <= ?
     GROUP BY wallet_vkey`,
    network,
    states,
    now - OVERDUE_MS,
  );
}

/** There is one row for each wallet. */
function heldUp(ledger: Database, network: Network, now: number): Promise<Row[]> {
  return ledger.all(
    `SELECT vkey, NULL AS sourceId, 0 AS waiting, held AS reason FROM hot_wallet
     WHERE network = ? AND held_since <= ? AND held NOT LIKE 'waits for the chain provider%'
     LIMIT ${MOST_LOOKED_AT}`,
    network,
    now - HELD_MS,
  );
}

/** Purchases that are wanted and wait for funds. */
function shortPurchases(ledger: Database, network: Network): Promise<Row[]> {
  return ledger.all(
    `SELECT vkey, source_id AS sourceId, count(*) AS waiting,
       ifnull(max(note), 'the funds are missing') AS reason
     FROM (SELECT wallet->>'vkey' AS vkey, source_id, error->>'note' AS note FROM escrow
           WHERE network = ? AND error->>'type' = 'InsufficientFunds' AND error IS NOT NULL
             AND due_at IS NOT NULL LIMIT ${MOST_LOOKED_AT})
     GROUP BY vkey, source_id`,
    network,
  );
}
