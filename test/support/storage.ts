import { listDurableObjectIds, reset, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";

/** Ids of the objects that code has called since storage was last emptied, in hex. */
const called = new Set<string>();

/** Deletes what the files before this one left in their runtime: objects, alarms and databases. */
export async function emptyStorage(): Promise<void> {
  const { DATABASE_MONITOR, SOURCE_CURSOR, PAYMENT_PAYLOAD, FACILITATOR_WALLET } = env;
  const { HOT_WALLET, PROVIDER_BUDGET, REGISTRY_CURSOR, SPENDING_JOURNAL } = env;
  // `reset` passes over what has idled for ten seconds.
  await Promise.all([
    wakeCalled(SOURCE_CURSOR),
    wakeCalled(PAYMENT_PAYLOAD),
    wakeCalled(FACILITATOR_WALLET),
    wakeCalled(HOT_WALLET),
    wakeCalled(PROVIDER_BUDGET),
    wakeCalled(REGISTRY_CURSOR),
    wakeCalled(SPENDING_JOURNAL),
    wakeCalled(DATABASE_MONITOR),
    env.DB.prepare("SELECT 1").run(),
    env.SEARCH_DB.prepare("SELECT 1").run(),
    env.ARCHIVE_1.prepare("SELECT 1").run(),
    env.TEST_ARCHIVE_2.prepare("SELECT 1").run(),
    env.TEST_ARCHIVE_3.prepare("SELECT 1").run(),
  ]);
  await reset();
  called.clear();
}

async function wakeCalled<Instance extends Rpc.DurableObjectBranded>(
  namespace: DurableObjectNamespace<Instance>,
): Promise<void> {
  const ids = await listDurableObjectIds(namespace);
  const woken = ids.filter((id) => called.has(id.toString()));
  await Promise.all(woken.map((id) => runInDurableObject(namespace.get(id), () => {})));
}

/** Records the objects that code gets from any namespace: they have one prototype. */
function recordCalls(): void {
  const namespaces: DurableObjectNamespace = Object.getPrototypeOf(env.HOT_WALLET);
  const { get } = namespaces;
  namespaces.get = function (this: DurableObjectNamespace, id, options) {
    called.add(id.toString());
    return get.call(this, id, options);
  };
  namespaces.getByName = function (this: DurableObjectNamespace, name, options) {
    return this.get(this.idFromName(name), options);
  };
}

recordCalls();
