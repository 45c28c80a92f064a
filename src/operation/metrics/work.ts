import { NETWORKS } from "../../chain/network.ts";
import { type Database, db } from "../../db/client.ts";
import type { Env } from "../../env.ts";
import { NEEDS_PERSON } from "../../escrow/reads/needs-person.ts";
import { MAX_COUNTED } from "./bounds.ts";
import type { Family, Sample } from "./open-metrics.ts";

interface Counted {
  labels: Record<string, string>;
  count: number;
  /** Epoch milliseconds; null: there is none. */
  oldest: number | null;
}

/**
 * What the features' wallets have not begun, of an index of those with a `due_at`. `since`: SQL of when
 * such a task was asked for, as far as the row knows.
 */
const QUEUES = [
  { feature: "transfer", table: "transfer", states: "Pending", since: "created_at" },
  {
    feature: "registration",
    table: "registration",
    states: "*Requested",
    // When a deregistration was asked for is not kept: when it is tried next is no earlier.
    since: "iif(state = 'RegistrationRequested', created_at, due_at)",
  },
] as const;

/** What a waiting task's `error` and failed tries say that it waits for. */
const REASON = `CASE WHEN error IS NULL THEN 'turn'
  WHEN error LIKE 'waits for the chain provider%' THEN 'provider'
  WHEN failures = 0 THEN 'later' ELSE 'failing' END`;

/**
 * What wallets have to do and do, and the steps of escrows that are due.
 *
 * @param deadline - epoch milliseconds, as `now`
 * @throws DatabaseUnavailable
 */
export async function work(env: Pick<Env, "DB">, deadline: number, now: number): Promise<Family[]> {
  const each = await Promise.all(
    NETWORKS.map(async (network) => {
      const ledger = db(env, network, { deadline });
      return {
        waiting: await waiting(ledger, network, now),
        underWay: await underWay(ledger, network),
        errors: await errors(ledger, network),
      };
    }),
  );
  const tasks = each.flatMap((one) => one.waiting);
  const transactions = each.flatMap((one) => one.underWay);
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
      help: "How long the oldest of them has waited.",
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
      help: "Time since the oldest of them was stored.",
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

async function waiting(ledger: Database, network: string, now: number): Promise<Counted[]> {
  const queues = await Promise.all(
    QUEUES.map(async ({ feature, table, states, since }) => {
      const rows = await ledger.all<{ reason: string; count: number; oldest: number }>(
        `SELECT reason, count(*) AS count, min(since) AS oldest FROM (
           SELECT ${REASON} AS reason, ${since} AS since FROM ${table}
           WHERE network = ? AND due_at IS NOT NULL AND state GLOB ? LIMIT ${MAX_COUNTED})
         GROUP BY reason`,
        network,
        states,
      );
      return rows.map(({ reason, ...row }) => ({ labels: { network, feature, reason }, ...row }));
    }),
  );
  const escrows = await ledger.all<{ reason: string; count: number; oldest: number }>(
    `SELECT iif(error IS NULL, 'turn', 'failing') AS reason, count(*) AS count, min(since) AS oldest
     FROM (SELECT error, want, due_at, ifnull(want->>'since', due_at) AS since FROM escrow
           WHERE network = ? AND due_at IS NOT NULL LIMIT ${MAX_COUNTED})
     WHERE due_at <= ? OR (want IS NOT NULL AND error IS NOT NULL)
     GROUP BY reason`,
    network,
    now,
  );
  return [
    ...queues.flat(),
    ...escrows.map(({ reason, ...row }) => ({
      labels: { network, feature: "escrow", reason },
      ...row,
    })),
  ];
}

async function underWay(ledger: Database, network: string): Promise<Counted[]> {
  const rows = await ledger.all<{ phase: string; count: number; oldest: number }>(
    `SELECT phase, count(*) AS count, min(created_at) AS oldest FROM (
       SELECT phase, created_at FROM wallet_transaction
       WHERE network = ? AND due_at IS NOT NULL LIMIT ${MAX_COUNTED})
     GROUP BY phase`,
    network,
  );
  return rows.map(({ phase, ...row }) => ({ labels: { network, phase }, ...row }));
}

async function errors(ledger: Database, network: string): Promise<Counted[]> {
  const rows = await ledger.all<{ type: string; count: number }>(
    `SELECT type, count(*) AS count FROM (
       SELECT state->>'$.nextAction.errorType' AS type FROM escrow
       WHERE network = ? AND side IN ('payment', 'purchase') AND ${NEEDS_PERSON} LIMIT ${MAX_COUNTED})
     WHERE type IS NOT NULL GROUP BY type`,
    network,
  );
  return rows.map(({ type, count }) => ({ labels: { network, type }, count, oldest: null }));
}
