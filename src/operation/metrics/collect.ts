import { db } from "../../db/client.ts";
import type { Env } from "../../env.ts";
import { openIncidents } from "../../events/incidents.ts";
import { SERVICE_EVENT_KINDS } from "../../events/kinds.ts";
import { followedSources } from "../followed.ts";
import { following } from "./following.ts";
import { openMetrics } from "./open-metrics.ts";
import { outbox } from "./outbox.ts";
import { providerCalls } from "./provider-calls.ts";
import { records } from "./records.ts";
import { work } from "./work.ts";

/**
 * All metrics, in the text form of OpenMetrics. Every part reads a bounded number of rows, along indexes.
 *
 * @param deadline - epoch milliseconds, as `now`
 * @throws DatabaseUnavailable
 */
export async function collectMetrics(env: Env, deadline: number, now: number): Promise<string> {
  const sources = await followedSources(env, deadline, now);
  const incidents = await openIncidents(db(env, undefined, { deadline }));
  const [tasks, states, deliveries, calls] = await Promise.all([
    work(env, deadline, now),
    records(env, deadline),
    outbox(env, deadline, now),
    providerCalls(env, deadline),
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
      help: "What somebody has to look at, by the reason that the health tells.",
      samples: SERVICE_EVENT_KINDS.map((kind) => ({
        labels: { kind },
        value: incidents.get(kind)?.length ?? 0,
      })),
    },
    ...following(sources, now),
    ...tasks,
    ...states,
    ...deliveries,
    calls,
  ]);
}
