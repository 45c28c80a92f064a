import { NETWORKS, type Network } from "../chain/network.ts";
import { type Database, db } from "../db/client.ts";
import type { Env } from "../env.ts";
import { log } from "../log.ts";

/** What an object of the registry is asked to do; each job has an object of its own. */
export type RegistryJob =
  | { kind: "sync" | "health"; network: Network; sourceId: string }
  | { kind: "search"; network: Network };

/** The RPC of `durable-objects/registry-cursor.ts`. */
export interface RegistryRpc {
  tick(job: RegistryJob, requestId: string): Promise<void>;
}

/** Wakes what the registry has to do each minute; each object does its job once. */
export async function wakeRegistry(env: Env, requestId: string): Promise<void> {
  const jobs = await Promise.all(
    NETWORKS.map(async (network) => jobsOf(network, await followedIds(db(env, network), network))),
  );
  await Promise.all(
    jobs.flat().map((job) =>
      wakeJob(env, job, requestId).catch((error: unknown) => {
        log("error", "registry.wake_failed", { job, requestId, error: String(error) });
      }),
    ),
  );
}

/** Asks the job's object for a run and returns before it runs. */
export async function wakeJob(
  env: Pick<Env, "REGISTRY_CURSOR">,
  job: RegistryJob,
  requestId: string,
): Promise<void> {
  const { REGISTRY_CURSOR } = env;
  const id = REGISTRY_CURSOR.idFromName(
    job.kind === "search" ? `search:${job.network}` : `${job.kind}:${job.sourceId}`,
  );
  await (REGISTRY_CURSOR.get(id) as unknown as RegistryRpc).tick(job, requestId);
}

function jobsOf(network: Network, sourceIds: string[]): RegistryJob[] {
  if (sourceIds.length === 0) return [];
  return [
    ...sourceIds.flatMap((sourceId) =>
      (["sync", "health"] as const).map((kind) => ({ kind, network, sourceId })),
    ),
    { kind: "search", network },
  ];
}

/** Ids of the sources that are followed, and of those whose removal is not finished. */
async function followedIds(ledger: Database, network: Network): Promise<string[]> {
  const rows = await ledger.all<{ id: string }>(
    "SELECT source_id AS id FROM registry_cursor WHERE network = ?",
    network,
  );
  return rows.map(({ id }) => id);
}
