import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { findBudgetObject } from "../../../src/sources/provider.ts";
import { type FurtherProvider, sealFurtherProviders } from "../../../src/sources/provider-list.ts";
import type { TestChain } from "../chain.ts";

/** Profiles to a chain beside `api`; see devnet/blockfrost/profiles.ts. */
export type Profile = "mirror" | "ryo" | "dolos" | "platform" | "ogmios";

/** The base URL of another provider of the same chain. */
export function urlOf(chain: TestChain, profile: Profile): string {
  return chain.url.replace("/api/v0", profile === "ogmios" ? "/ogmios" : `/${profile}/v0`);
}

/** A further provider as a source stores it. */
export function providerAt(
  chain: TestChain,
  profile: Profile,
  use: FurtherProvider["use"] = ["reads", "evaluate", "submit"],
): FurtherProvider {
  const rpcProvider = profile === "ogmios" ? "Ogmios" : "Blockfrost";
  return { rpcProvider, url: urlOf(chain, profile), rpcProviderApiKey: "local", use };
}

/** Gives a source further providers, written straight to D1. */
export async function setProviders(
  id: string,
  providers: FurtherProvider[],
  table: "payment_source" | "registry_source" = "payment_source",
) {
  const sealed = await sealFurtherProviders(env, { id, table }, providers);
  await env.DB.prepare(`UPDATE ${table} SET rpc_providers = ? WHERE id = ?`).bind(sealed, id).run();
}

/** What is known of the outages of a provider with the key `local`. */
export async function outagesOf(chain: TestChain, profile?: Profile) {
  return (await findBudget(chain, profile)).readOutages();
}

/** Has everybody forget that the providers of a chain failed. */
export async function forgetOutages(chain: TestChain, ...profiles: Profile[]): Promise<void> {
  for (const profile of [undefined, ...profiles]) {
    const { id } = await findBudget(chain, profile);
    const stub = env.PROVIDER_BUDGET.get(env.PROVIDER_BUDGET.idFromString(id.toString()));
    await runInDurableObject(stub, (_, { storage }) => storage.delete("outages"));
  }
}

function findBudget(chain: TestChain, profile?: Profile) {
  return findBudgetObject(env, "Preprod", "local", profile ? urlOf(chain, profile) : chain.url);
}
