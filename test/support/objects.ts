import { env } from "cloudflare:workers";
import type { Env } from "../../src/env.ts";

/** The bindings of Durable Objects. */
type Objects = {
  [Name in keyof Env]: Env[Name] extends DurableObjectNamespace<infer _> ? Name : never;
}[keyof Env];

/** A namespace with others in place of its objects. @param get - given the id of the real one */
export function objectsLike<Name extends Objects & keyof Env>(
  name: Name,
  get: (id: DurableObjectId) => object,
): Cloudflare.Env[Name] {
  const idFromName = (of: string) => (env[name] as DurableObjectNamespace).idFromName(of);
  return { idFromName, get } as unknown as Cloudflare.Env[Name];
}

const asleep = () => ({ tick: async () => {}, wake: async () => {} });

/** Objects that do nothing when they are woken: the test runs what they would do. */
export const ASLEEP = {
  SOURCE_CURSOR: objectsLike("SOURCE_CURSOR", asleep),
  REGISTRY_CURSOR: objectsLike("REGISTRY_CURSOR", asleep),
  HOT_WALLET: objectsLike("HOT_WALLET", asleep),
};
