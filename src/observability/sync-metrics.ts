import { computeLag, isSourceStuck, type MonitoredSource } from "./monitored-sources.ts";
import type { MetricFamily } from "./open-metrics.ts";

/** How well sources are followed. @param now - epoch milliseconds */
export function createSyncMetrics(
  sources: readonly MonitoredSource[],
  now: number,
): MetricFamily[] {
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
