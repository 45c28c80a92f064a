import { PROVIDER_PURPOSES } from "../chain/provider/outage.ts";
import type { Database } from "../db/client.ts";
import { SealError } from "../db/sealed.ts";
import type { Env } from "../env.ts";
import type { NewIncident } from "../events/incidents.ts";
import { toIsoTime } from "../http/envelope.ts";
import { openProviderPlaces } from "../sources/open-source-provider.ts";
import type { SourceOfProviders } from "../sources/source-row.ts";
import { readProviderSources } from "./provider-sources.ts";

/** How long a provider fails before operators are told: a single lost call recovers at the first probe. */
const MIN_OUTAGE_MS = 30_000;

/**
 * Providers that fail, of the sources that have several. Where there is only one, its source is
 * stuck.
 *
 * @param now - epoch milliseconds
 */
export async function findProviderOutages(
  env: Env,
  core: Database,
  now: number,
): Promise<NewIncident[]> {
  const sources = await readProviderSources(core, "rpc_providers IS NOT NULL");
  const found = await Promise.all(sources.map((source) => findOutagesOf(env, source, now)));
  return found.flat();
}

async function findOutagesOf(
  env: Env,
  source: SourceOfProviders,
  now: number,
): Promise<NewIncident[]> {
  const places = await openProviderPlaces(env, source).catch((error: unknown) => {
    if (!(error instanceof SealError)) throw error;
    return [];
  });
  return places.flatMap(({ outages }, provider) => {
    const failing = PROVIDER_PURPOSES.flatMap((use) => {
      const outage = outages[use];
      if (!outage || outage.isLack || outage.recoveredAt !== null) return [];
      if (now - outage.since < MIN_OUTAGE_MS) return [];
      return [{ use, ...outage }];
    });
    const [first] = failing;
    if (first === undefined) return [];
    const data = {
      ...{ sourceId: source.id, network: source.network, provider },
      kind: source.table === "registry_source" ? ("registry" as const) : ("payment" as const),
      use: failing.map(({ use }) => use),
      since: toIsoTime(first.since),
      reason: first.reason,
    };
    return [{ subject: `${source.id}:${provider}`, sourceId: source.id, data }];
  });
}
