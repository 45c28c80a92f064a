import { NETWORKS, type Network } from "../chain/network.ts";
import { type Database, db } from "../db/client.ts";
import type { Env } from "../env.ts";
import { NEEDS_PERSON } from "../escrow/store/predicates.ts";
import { WALLET_FEATURES } from "../wallet-features.ts";
import { MAX_COUNTED } from "../wallets/spending/task-queue.ts";
import type { Family, Sample } from "./open-metrics.ts";

interface Counted {
  labels: Record<string, string>;
  count: number;
  /** Epoch milliseconds; null: there is none. */
  oldest: number | null;
}

/**
 * What wallets have to do and do, and the steps of escrows that are due.
 *
 * @param deadline - epoch milliseconds, as `now`
 * @throws DatabaseUnavailable
 */
export async function taskMetrics(
  env: Pick<Env, "DB">,
  deadline: number,
  now: number,
): Promise<Family[]> {
  const each = await Promise.all(
    NETWORKS.map(async (network) => {
      const database = db(env, network, { deadline });
      return {
        waiting: await waiting(database, network, now),
        pendingTransactions: await countTransactions(database, network),
        errors: await errors(database, network),
      };
    }),
  );
  const tasks = each.flatMap((one) => one.waiting);
  const transactions = each.flatMap((one) => one.pendingTransactions);
  return [
    {
      name: "tasks_waiting",
      type: "gauge",
      help: `Tasks of wallets that have not begun, at most ${MAX_COUNTED} of a network and feature, by what they wait for.`,
      samples: counts(tasks),
    },
    {
      name: "tasks_oldest_seconds",
      type: "gauge",
      unit: "seconds",
      help: "Time that the oldest of these tasks has waited.",
      samples: ages(tasks, now),
    },
    {
      name: "transactions_under_way",
      type: "gauge",
      help: "Transactions of wallets that are not final, by phase.",
      samples: counts(transactions),
    },
    {
      name: "transactions_oldest_seconds",
      type: "gauge",
      unit: "seconds",
      help: "Time since the oldest of these transactions was stored.",
      samples: ages(transactions, now),
    },
    {
      name: "records_with_error",
      type: "gauge",
      help: `Payments and purchases with an error, at most ${MAX_COUNTED} of a network.`,
      samples: counts(each.flatMap((one) => one.errors)),
    },
  ];
}

function counts(counted: readonly Counted[]): Sample[] {
  return counted.map(({ labels, count }) => ({ labels, value: count }));
}

function ages(counted: readonly Counted[], now: number): Sample[] {
  return counted.flatMap(({ labels, oldest }) =>
    oldest === null ? [] : [{ labels, value: Math.max(0, now - oldest) / 1000 }],
  );
}

async function waiting(database: Database, network: Network, now: number): Promise<Counted[]> {
  const counted = await Promise.all(
    WALLET_FEATURES.map((one) => one.countWaiting(database, network, now)),
  );
  return counted
    .flat()
    .map(({ feature, reason, ...row }) => ({ labels: { network, feature, reason }, ...row }));
}

async function countTransactions(database: Database, network: string): Promise<Counted[]> {
  const rows = await database.all<{ phase: string; count: number; oldest: number }>(
    `SELECT phase, count(*) AS count, min(created_at) AS oldest FROM (
       SELECT phase, created_at FROM wallet_transaction
       WHERE network = ? AND due_at IS NOT NULL LIMIT ${MAX_COUNTED})
     GROUP BY phase`,
    network,
  );
  return rows.map(({ phase, ...row }) => ({ labels: { network, phase }, ...row }));
}

async function errors(database: Database, network: string): Promise<Counted[]> {
  const rows = await database.all<{ type: string; count: number }>(
    `SELECT type, count(*) AS count FROM (
       SELECT error_type AS type FROM escrow
       WHERE network = ? AND side IN ('payment', 'purchase') AND ${NEEDS_PERSON} LIMIT ${MAX_COUNTED})
     GROUP BY type`,
    network,
  );
  return rows.map(({ type, count }) => ({ labels: { network, type }, count, oldest: null }));
}
