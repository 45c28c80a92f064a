import { NETWORKS, type Network } from "../chain/network.ts";
import { type Database, db } from "../db/client.ts";
import type { Env } from "../env.ts";

/** A task that nobody has tried for so long is not being done: the cron wakes wallets each minute. */
const OVERDUE_MS = 90_000;
/** A task with this many failed tries does not recover without help. */
const MANY_FAILURES = 2;
/** Longer than the longest pause between two tries, so that what failed is found between them. */
const PAUSED_MS = 6 * 60_000;
/**
 * A wallet that is blocked for this long does not recover without help. A full line or the end of an
 * epoch passes sooner.
 */
const HELD_MS = 5 * 60_000;
/** Rows that are looked at, of each table and network. */
const MAX_ROWS = 10_000;

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

/** SQL: the wallet `vkey` has stored a transaction lately, so what is overdue has its turn when blocks have room. */
const IS_AT_WORK = `EXISTS (SELECT 1 FROM wallet_transaction AS stored
  WHERE stored.network = ?1 AND stored.wallet_vkey = vkey AND stored.created_at > ?2)`;

/**
 * Wallets with tasks that failed more than once, that lack funds for a purchase, that nobody tries, or
 * that have waited for long. The tasks are transfers, registrations, and the locks and steps of
 * escrows. Tasks that wait for the provider or the chain are not counted.
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
        tasksOfEscrows(ledger, network, now),
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

const UNTRIED = "nobody has tried it for too long";

/** Of a table with an index of the rows that have a `due_at`. */
function tasksOf(
  ledger: Database,
  network: Network,
  table: "transfer" | "registration",
  states: string,
  now: number,
): Promise<Row[]> {
  return ledger.all(
    `SELECT vkey, min(source_id) AS sourceId, count(*) AS waiting,
       ifnull(max(error), '${UNTRIED}') AS reason
     FROM (SELECT wallet_vkey AS vkey, source_id, error, failures, due_at FROM ${table}
           WHERE network = ?1 AND due_at IS NOT NULL AND state GLOB ?3 LIMIT ${MAX_ROWS})
     WHERE failures >= ${MANY_FAILURES} OR (due_at <= ?2 AND NOT ${IS_AT_WORK})
     GROUP BY vkey`,
    network,
    now - OVERDUE_MS,
    states,
  );
}

/** There is one row for each wallet. */
function heldUp(ledger: Database, network: Network, now: number): Promise<Row[]> {
  return ledger.all(
    `SELECT vkey, NULL AS sourceId, 0 AS waiting, held AS reason FROM hot_wallet
     WHERE network = ? AND held_since <= ? AND held NOT LIKE 'waits for the chain provider%'
     LIMIT ${MAX_ROWS}`,
    network,
    now - HELD_MS,
  );
}

/**
 * Locks and steps that are wanted. A purchase may be chosen no wallet yet; one without funds is told at
 * once, since it has a time to pay by.
 */
function tasksOfEscrows(ledger: Database, network: Network, now: number): Promise<Row[]> {
  return ledger.all(
    `SELECT vkey, min(sourceId) AS sourceId, count(*) AS waiting,
       ifnull(max(note), '${UNTRIED}') AS reason
     FROM (SELECT wallet->>'vkey' AS vkey, source_id AS sourceId, due_at, error->>'type' AS type,
             error->>'note' AS note, ifnull(want->>'failures', 0) AS failures
           FROM escrow
           WHERE network = ?1 AND due_at IS NOT NULL AND due_at <= ?3 AND want IS NOT NULL
           LIMIT ${MAX_ROWS})
     WHERE failures >= ${MANY_FAILURES} OR type = 'InsufficientFunds'
       OR (due_at <= ?2 AND NOT ${IS_AT_WORK})
     GROUP BY vkey, iif(vkey IS NULL, sourceId, NULL)`,
    network,
    now - OVERDUE_MS,
    now + PAUSED_MS,
  );
}
