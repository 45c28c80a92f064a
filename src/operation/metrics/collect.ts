import type { Env } from "../../env.ts";
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
  const [tasks, states, deliveries, calls] = await Promise.all([
    work(env, deadline, now),
    records(env, deadline),
    outbox(env, deadline, now),
    providerCalls(env, deadline),
  ]);
  return openMetrics([...following(sources, now), ...tasks, ...states, ...deliveries, calls]);
}
