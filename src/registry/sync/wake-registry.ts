import { NETWORKS, type Network } from "../../chain/network.ts";
import { type Database, openDb } from "../../db/client.ts";
import { type Env, getDurableObject } from "../../env.ts";
import { log } from "../../log.ts";
import { wakeObjects } from "../../wake-objects.ts";

/** The job of an object of the registry; each job has a separate object. */
export type RegistryJob =
  | { kind: "sync" | "health"; network: Network; sourceId: string }
  | { kind: "search"; network: Network };

/** Wakes the registry's jobs each minute; each object does its job once. */
export async function wakeRegistry(env: Env, requestId: string): Promise<void> {
  const jobs = await Promise.all(
    NETWORKS.map(async (network) =>
      jobsOf(network, await listKnownSources(openDb(env, network), network)),
    ),
  );
  await wakeObjects(
    jobs.flat(),
    (job) => wakeRegistryJob(env, job, requestId),
    (job, error) => {
      log("error", "registry.wake_failed", { job, requestId, error: String(error) });
    },
  );
}

/** The calls of a job's object. */
export interface RegistryObject {
  tick(job: RegistryJob, requestId: string): Promise<void>;
}

/** Asks the job's object for a run and returns before it runs. */
export async function wakeRegistryJob(
  env: Pick<Env, "REGISTRY_CURSOR" | "OBJECT_LOCATION">,
  job: RegistryJob,
  requestId: string,
): Promise<void> {
  const name = job.kind === "search" ? `search:${job.network}` : `${job.kind}:${job.sourceId}`;
  await getDurableObject<RegistryObject>(env, env.REGISTRY_CURSOR, name).tick(job, requestId);
}

function jobsOf(network: Network, known: KnownSource[]): RegistryJob[] {
  if (known.length === 0) return [];
  return [
    ...known.flatMap(({ id: sourceId, removedAt }): RegistryJob[] => [
      { kind: "sync", network, sourceId },
      ...(removedAt === null ? [{ kind: "health", network, sourceId } as const] : []),
    ]),
    { kind: "search", network },
  ];
}

interface KnownSource {
  id: string;
  removedAt: number | null;
}

/** The sources that are followed, and those whose removal is not finished. */
function listKnownSources(database: Database, network: Network): Promise<KnownSource[]> {
  return database.all(
    `SELECT source_id AS id, removed_at AS removedAt FROM registry_cursor WHERE network = ?`,
    network,
  );
}
