import { NETWORKS, type Network } from "../chain/network.ts";
import { type Database, openDb } from "../db/client.ts";
import type { Env } from "../env.ts";
import { NEEDS_PERSON_CONDITION } from "../escrow/store/predicates.ts";
import { WALLET_FEATURES } from "../wallet-features.ts";
import { MAX_COUNTED_ROWS } from "../wallets/spending/task-queue.ts";
import type { MetricFamily, MetricSample } from "./open-metrics.ts";

interface LabeledCount {
  labels: Record<string, string>;
  count: number;
  /** Epoch milliseconds; null: there is none. */
  oldest: number | null;
}

/**
 * What wallets have to do and do, and the steps of escrows that are due.
 *
 * @param deadline - epoch milliseconds, as `now`
 * @throws DatabaseUnavailableError
 */
export async function collectTaskMetrics(
  env: Pick<Env, "DB">,
  deadline: number,
  now: number,
): Promise<MetricFamily[]> {
  const each = await Promise.all(
    NETWORKS.map(async (network) => {
      const database = openDb(env, network, { deadline });
      return {
        waiting: await countWaitingTasks(database, network, now),
        pendingTransactions: await countTransactions(database, network),
        errors: await countRecordErrors(database, network),
      };
    }),
  );
  const tasks = each.flatMap((one) => one.waiting);
  const transactions = each.flatMap((one) => one.pendingTransactions);
  return [
    {
      name: "tasks_waiting",
      help: `Tasks of wallets that have not begun, at most ${MAX_COUNTED_ROWS} of a network and feature, by what they wait for.`,
      samples: toCountSamples(tasks),
    },
    {
      name: "tasks_oldest_seconds",
      help: "Time that the oldest of these tasks has waited.",
      samples: toAgeSamples(tasks, now),
    },
    {
      name: "transactions_under_way",
      help: "Transactions of wallets that are not final, by phase.",
      samples: toCountSamples(transactions),
    },
    {
      name: "transactions_oldest_seconds",
      help: "Time since the oldest of these transactions was stored.",
      samples: toAgeSamples(transactions, now),
    },
    {
      name: "records_with_error",
      help: `Payments and purchases with an error, at most ${MAX_COUNTED_ROWS} of a network.`,
      samples: toCountSamples(each.flatMap((one) => one.errors)),
    },
  ];
}

function toCountSamples(counted: readonly LabeledCount[]): MetricSample[] {
  return counted.map(({ labels, count }) => ({ labels, value: count }));
}

function toAgeSamples(counted: readonly LabeledCount[], now: number): MetricSample[] {
  return counted.flatMap(({ labels, oldest }) =>
    oldest === null ? [] : [{ labels, value: Math.max(0, now - oldest) / 1000 }],
  );
}

async function countWaitingTasks(
  database: Database,
  network: Network,
  now: number,
): Promise<LabeledCount[]> {
  const counted = await Promise.all(
    WALLET_FEATURES.map((one) => one.countWaiting(database, network, now)),
  );
  return counted
    .flat()
    .map(({ feature, reason, ...row }) => ({ labels: { network, feature, reason }, ...row }));
}

async function countTransactions(database: Database, network: string): Promise<LabeledCount[]> {
  const rows = await database.all<{ phase: string; count: number; oldest: number }>(
    `SELECT phase, count(*) AS count, min(created_at) AS oldest FROM (
       SELECT phase, created_at FROM wallet_transaction INDEXED BY wallet_transaction_open
       WHERE network = ? AND due_at IS NOT NULL LIMIT ${MAX_COUNTED_ROWS})
     GROUP BY phase`,
    network,
  );
  return rows.map(({ phase, ...row }) => ({ labels: { network, phase }, ...row }));
}

async function countRecordErrors(database: Database, network: string): Promise<LabeledCount[]> {
  const rows = await database.all<{ type: string; count: number }>(
    `SELECT type, count(*) AS count FROM (
       SELECT error_type AS type FROM escrow
       WHERE network = ? AND side IN ('payment', 'purchase') AND ${NEEDS_PERSON_CONDITION} LIMIT ${MAX_COUNTED_ROWS})
     GROUP BY type`,
    network,
  );
  return rows.map(({ type, count }) => ({ labels: { network, type }, count, oldest: null }));
}
