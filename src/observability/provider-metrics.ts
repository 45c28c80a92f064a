import { NETWORKS, type Network } from "../chain/network.ts";
import { CALL_CLASSES, type CallClass, type CallsByClass } from "../chain/provider/budget.ts";
import { openDb } from "../db/client.ts";
import { SealError } from "../db/sealed.ts";
import type { Env } from "../env.ts";
import type { MetricFamily } from "./open-metrics.ts";
import { openProviderBudget, readProviderSources } from "./provider-sources.ts";

/** Objects that are asked: more keys than these are unlikely, and an invocation has six connections. */
const MAX_PROVIDER_KEYS = 20;

/**
 * Calls to the chain provider in this UTC day, by who made them: the sum over the keys of a network.
 *
 * @param deadline - epoch milliseconds
 * @throws DatabaseUnavailableError
 */
export async function collectProviderMetrics(env: Env, deadline: number): Promise<MetricFamily> {
  const used = new Map<Network, CallsByClass[]>(NETWORKS.map((network) => [network, []]));
  const budgets = await listBudgets(env, deadline);
  await Promise.all(
    budgets.map(async ({ network, budget }) => used.get(network)?.push(await budget.usage())),
  );
  const classes = Object.keys(CALL_CLASSES) as CallClass[];
  return {
    name: "provider_calls",
    type: "counter",
    help: "Calls to the chain provider granted since midnight UTC, by class.",
    samples: [...used].flatMap(([network, all]) =>
      classes.flatMap((by) => {
        const value = all.reduce((sum, calls) => sum + (calls[by] ?? 0), 0);
        return value > 0 ? [{ labels: { network, class: by }, value }] : [];
      }),
    ),
  };
}

/** The objects of all keys in use, each once. A key that cannot be opened has none that is used. */
async function listBudgets(env: Env, deadline: number) {
  const core = openDb(env, undefined, { deadline });
  const sources = await readProviderSources(core, `TRUE ORDER BY id LIMIT ${MAX_PROVIDER_KEYS}`);
  type Budget = Awaited<ReturnType<typeof openProviderBudget>>;
  const found = new Map<string, { network: Network; budget: Budget }>();
  for (const source of sources) {
    try {
      const budget = await openProviderBudget(env, source);
      found.set(budget.id.toString(), { network: source.network, budget });
    } catch (error) {
      if (!(error instanceof SealError)) throw error;
    }
  }
  return [...found.values()].slice(0, MAX_PROVIDER_KEYS);
}
