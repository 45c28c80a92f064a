import { openDb } from "../db/client.ts";
import type { Env } from "../env.ts";
import { SERVICE_EVENT_KINDS } from "../events/event-kinds.ts";
import { readOpenIncidents } from "../events/incidents.ts";
import { collectSizeMetrics } from "./database-size.ts";
import {
  computeLag,
  isSourceStuck,
  listMonitoredSources,
  type MonitoredSource,
} from "./monitored-sources.ts";
import { type MetricFamily, renderOpenMetrics } from "./open-metrics.ts";
import { collectOutboxMetrics } from "./outbox-metrics.ts";
import { collectProviderMetrics } from "./provider-metrics.ts";
import { collectRecordMetrics } from "./record-metrics.ts";
import { collectTaskMetrics } from "./task-metrics.ts";

/**
 * All metrics, in the text form of OpenMetrics. Every part reads a bounded number of rows, along indexes.
 *
 * @param deadline - epoch milliseconds, as `now`
 * @throws DatabaseUnavailableError
 */
export async function collectMetrics(env: Env, deadline: number, now: number): Promise<string> {
  const sources = await listMonitoredSources(env, deadline, now);
  const incidents = await readOpenIncidents(openDb(env, undefined, { deadline }));
  const [tasks, states, deliveries, sizes, calls] = await Promise.all([
    collectTaskMetrics(env, deadline, now),
    collectRecordMetrics(env, deadline),
    collectOutboxMetrics(env, deadline, now),
    collectSizeMetrics(env, deadline, now),
    collectProviderMetrics(env, deadline),
  ]);
  return renderOpenMetrics([
    {
      name: "version",
      help: "1 for the deployed version that answers.",
      samples: env.CF_VERSION_METADATA
        ? [{ labels: { id: env.CF_VERSION_METADATA.id }, value: 1 }]
        : [],
    },
    {
      name: "incidents",
      help: "Incidents that need a person, by their reason in the health.",
      samples: SERVICE_EVENT_KINDS.map((kind) => ({
        labels: { kind },
        value: incidents.get(kind)?.length ?? 0,
      })),
    },
    ...createSyncMetrics(sources, now),
    ...tasks,
    ...states,
    ...deliveries,
    ...sizes,
    calls,
  ]);
}

/** How well sources are followed. @param now - epoch milliseconds */
function createSyncMetrics(sources: readonly MonitoredSource[], now: number): MetricFamily[] {
  const labelled = sources.map((source) => {
    const { kind, network, id } = source;
    return { source, labels: { kind, network, source: id } };
  });
  return [
    {
      name: "sync_lag_seconds",
      help: "Time since the sync of a source last reached the tip, or since the creation of the source.",
      samples: labelled.map(({ source, labels }) => ({
        labels,
        value: computeLag(source, now) / 1000,
      })),
    },
    {
      name: "sync_stuck",
      help: "1 for a source that needs a person.",
      samples: labelled.map(({ source, labels }) => ({
        labels,
        value: isSourceStuck(source, now) ? 1 : 0,
      })),
    },
  ];
}
