import { listDurableObjectIds, reset, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";

/** Objects that were emptied, by the hex of their ids. Their names are random: none is used again. */
const emptied = new Set<string>();

/** Deletes what the files before this one left in their runtime: objects, alarms and databases. */
export async function emptyStorage(): Promise<void> {
  const { SOURCE_CURSOR, PAYMENT_PAYLOAD, FACILITATOR_WALLET } = env;
  const { HOT_WALLET, PROVIDER_BUDGET, REGISTRY_CURSOR, SPENDING_JOURNAL } = env;
  // `reset` passes over what has idled for ten seconds.
  await Promise.all([
    wakeEach(SOURCE_CURSOR, isFirstMet),
    wakeEach(PAYMENT_PAYLOAD, isFirstMet),
    wakeEach(FACILITATOR_WALLET, isFirstMet),
    // The names of these are the same in many files.
    wakeEach(HOT_WALLET),
    wakeEach(PROVIDER_BUDGET),
    wakeEach(REGISTRY_CURSOR),
    wakeEach(SPENDING_JOURNAL),
    env.DB.prepare("SELECT 1").run(),
    env.SEARCH_DB.prepare("SELECT 1").run(),
  ]);
  await reset();
}

async function wakeEach<Instance extends Rpc.DurableObjectBranded>(
  namespace: DurableObjectNamespace<Instance>,
  isIncluded: (id: string) => boolean = () => true,
): Promise<void> {
  const ids = await listDurableObjectIds(namespace);
  const woken = ids.filter((id) => isIncluded(id.toString()));
  await Promise.all(woken.map((id) => runInDurableObject(namespace.get(id), () => {})));
}

function isFirstMet(id: string): boolean {
  if (emptied.has(id)) return false;
  emptied.add(id);
  return true;
}
