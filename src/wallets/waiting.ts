import type { Funds, Network } from "../chain/network.ts";
import type { Database } from "../db/client.ts";

/** Something that a wallet shall do on the chain and has not begun. */
export interface WaitingTask {
  /** Payment key hash of the wallet, hex. */
  vkey: string;
  /** The names of the feature and of the task, as in the wallet's transactions. */
  feature: string;
  id: string;
  /** What it waits for, for people. */
  reason: string;
  /** When it is tried next, epoch milliseconds; in the past: at the next run. */
  dueAt: number;
  /** What the wallet has to pay for it at least, beside fees. */
  needs?: readonly Funds[];
}

/**
 * What waits for some wallets of a network, as one feature knows it: of each wallet at most so many
 * tasks, the next first. It only reads.
 *
 * @param vkeys - payment key hashes, hex
 */
export type WaitingTasks = (
  ledger: Database,
  network: Network,
  vkeys: readonly string[],
  limit: number,
) => Promise<WaitingTask[]>;

/** What features know of wallets that only show it. */
export interface WalletFeatures {
  /** What each of them knows to wait for a wallet. */
  waiting: readonly WaitingTasks[];
  /** Names of the outputs of a network's wallets that are kept for something, and not spent. */
  setAside(ledger: Database, network: Network): Promise<ReadonlySet<string>>;
}

/** A feature's record that waits. */
export interface WaitingRecord<State extends string> extends Pick<WaitingTask, "vkey" | "dueAt"> {
  id: string;
  state: State;
  /** Null while nothing but its turn is waited for. */
  error: string | null;
  /** What the feature asked for as `pays`. */
  pays: string | null;
}

export const ITS_TURN = "waits for its turn";

/**
 * The records of a feature that wait for some wallets, as `WaitingTasks` says.
 *
 * @param table - has the columns `id`, `network`, `wallet_vkey`, `state`, `error` and `due_at`, and an
 *   index of those with a `due_at` by network and wallet
 * @param pays - an expression of what its records pay
 * @param states - GLOB of the states in which no transaction is under way
 */
export function waitingRecords<State extends string>(
  { table, states, pays }: { table: string; states: string; pays: string },
  ...[ledger, network, vkeys, limit]: Parameters<WaitingTasks>
): Promise<WaitingRecord<State>[]> {
  return ledger.all(
    `SELECT id, wallet_vkey AS vkey, state, error, due_at AS dueAt, ${pays} AS pays FROM (
       SELECT *, row_number() OVER (PARTITION BY wallet_vkey ORDER BY due_at, id) AS place
       FROM ${table}
       WHERE network = ?1 AND wallet_vkey IN (SELECT value FROM json_each(?2))
         AND due_at IS NOT NULL AND state GLOB ?4)
     WHERE place <= ?3 ORDER BY due_at, id`,
    network,
    JSON.stringify(vkeys),
    limit,
    states,
  );
}
