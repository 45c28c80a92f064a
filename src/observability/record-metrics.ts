import { NETWORKS, ON_CHAIN_STATES } from "../chain/network.ts";
import { type Database, openDb } from "../db/client.ts";
import type { Env } from "../env.ts";
import { ENTRY_STATUSES } from "../registry/entries/entry.ts";
import { MAX_COUNTED_ROWS } from "../wallets/spending/task-queue.ts";
import type { MetricFamily, MetricSample } from "./open-metrics.ts";

/**
 * How many records there are in each state. Each is counted along the index that lists it, up to a bound.
 *
 * @param deadline - epoch milliseconds
 * @throws DatabaseUnavailableError
 */
export async function collectRecordMetrics(
  env: Pick<Env, "DB">,
  deadline: number,
): Promise<MetricFamily[]> {
  const each = await Promise.all(
    NETWORKS.map(async (network) => {
      const database = openDb(env, network, { deadline });
      const sides = ["payment", "purchase"] as const;
      const escrows = await Promise.all(
        sides.map((side) =>
          countByState(database, "escrow", { side, network }, "on_chain_state", COUNTED_STATES),
        ),
      );
      const agents = await countByState(
        database,
        "registry_entry",
        { network },
        "status",
        ENTRY_STATUSES,
      );
      const failed = await countFailedRegistrations(database, network);
      return { escrows: escrows.flat(), agents, failed };
    }),
  );
  return [
    {
      name: "records",
      help: `Payments and purchases by state on the chain ("" before the first), at most ${MAX_COUNTED_ROWS} of each.`,
      samples: each.flatMap(({ escrows }) => escrows),
    },
    {
      name: "agents",
      help: `Agents in the registry by status, at most ${MAX_COUNTED_ROWS} of each.`,
      samples: each.flatMap(({ agents }) => agents),
    },
    {
      name: "registrations_failed",
      help: `Agents' and inbox agents' registrations, updates and deregistrations that failed, at most ${MAX_COUNTED_ROWS} of a network.`,
      samples: each.flatMap(({ failed }) => failed),
    },
  ];
}

/** Those that nobody has requested again or removed. */
async function countFailedRegistrations(
  database: Database,
  network: string,
): Promise<MetricSample[]> {
  const rows = await database.all<{ kind: string; count: number }>(
    `SELECT kind, count(*) AS count FROM (
       SELECT kind FROM registration INDEXED BY registration_failed
       WHERE network = ? AND state GLOB '*Failed' LIMIT ${MAX_COUNTED_ROWS})
     GROUP BY kind`,
    network,
  );
  return rows.map(({ kind, count }) => ({ labels: { network, kind }, value: count }));
}

/** Null: not on the chain yet. */
const COUNTED_STATES = [null, ...ON_CHAIN_STATES];

/** Rows of a table that has an index of `fixed` columns and then `state`. */
async function countByState(
  database: Database,
  table: "escrow" | "registry_entry",
  fixed: Record<string, string>,
  state: string,
  states: readonly (string | null)[],
): Promise<MetricSample[]> {
  const columns = Object.keys(fixed);
  const rows = await database.all<{ state: string | null; count: number }>(
    `SELECT value AS state, (SELECT count(*) FROM (SELECT 1 FROM ${table}
       WHERE ${columns.map((column) => `${column} = ?`).join(" AND ")} AND ${state} IS value
       LIMIT ${MAX_COUNTED_ROWS})) AS count
     FROM json_each(?)`,
    ...Object.values(fixed),
    JSON.stringify(states),
  );
  return rows.map((row) => ({
    labels: { ...fixed, state: row.state ?? "" },
    value: row.count,
  }));
}
