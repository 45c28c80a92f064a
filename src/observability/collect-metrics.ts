import { db } from "../db/client.ts";
import type { Env } from "../env.ts";
import { SERVICE_EVENT_KINDS } from "../events/event-kinds.ts";
import { readOpenIncidents } from "../events/incidents.ts";
import { listFollowedSources } from "./followed-sources.ts";
import { openMetrics } from "./open-metrics.ts";
import { outboxMetrics } from "./outbox-metrics.ts";
import { providerMetrics } from "./provider-metrics.ts";
import { recordMetrics } from "./record-metrics.ts";
import { syncMetrics } from "./sync-metrics.ts";
import { taskMetrics } from "./task-metrics.ts";

/**
 * All metrics, in the text form of OpenMetrics. Every part reads a bounded number of rows, along indexes.
 *
 * @param deadline - epoch milliseconds, as `now`
 * @throws DatabaseUnavailable
 */
export async function collectMetrics(env: Env, deadline: number, now: number): Promise<string> {
  const sources = await listFollowedSources(env, deadline, now);
  const incidents = await readOpenIncidents(db(env, undefined, { deadline }));
  const [tasks, states, deliveries, calls] = await Promise.all([
    taskMetrics(env, deadline, now),
    recordMetrics(env, deadline),
    outboxMetrics(env, deadline, now),
    providerMetrics(env, deadline),
  ]);
  return openMetrics([
    {
      name: "version",
      type: "gauge",
      help: "1 for the deployed version that answers.",
      samples: env.CF_VERSION_METADATA
        ? [{ labels: { id: env.CF_VERSION_METADATA.id }, value: 1 }]
        : [],
    },
    {
      name: "incidents",
      type: "gauge",
      help: "Incidents that need a person, by their reason in the health.",
      samples: SERVICE_EVENT_KINDS.map((kind) => ({
        labels: { kind },
        value: incidents.get(kind)?.length ?? 0,
      })),
    },
    ...syncMetrics(sources, now),
    ...tasks,
    ...states,
    ...deliveries,
    calls,
  ]);
}
