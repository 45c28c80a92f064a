import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, vi } from "vitest";
import { findBudgetObject } from "../../../src/sources/provider.ts";
import { type FurtherProvider, sealFurtherProviders } from "../../../src/sources/provider-list.ts";
import type { TestChain } from "../chain.ts";
import { sweep } from "../effort.ts";

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

const realFetch = globalThis.fetch;

/** Runs a part of a story, in which the first provider may stop. */
export type WithFirstProvider = <T>(part: () => Promise<T>) => Promise<T>;

/**
 * Tells a story as often as its first provider is called. The provider stops at another call each time:
 * what is left must be the same.
 *
 * @param story - returns what is left
 */
export async function expectSameAtEachSwitch(
  profile: Profile,
  expected: unknown,
  story: (withFirst: WithFirstProvider) => Promise<unknown>,
): Promise<void> {
  async function tell(stopAt: number): Promise<{ left: unknown; calls: number }> {
    let calls = 0;
    const left = await story(async (part) => {
      vi.stubGlobal("fetch", async (...args: Parameters<typeof realFetch>) => {
        if (String(args[0]).includes("/api/v0/") && ++calls >= stopAt)
          throw new TypeError("connection reset");
        return realFetch(...args);
      });
      return part().finally(() => vi.unstubAllGlobals());
    });
    return { left, calls };
  }
  const { left, calls: all } = await tell(Number.POSITIVE_INFINITY);
  expect(left).toEqual(expected);
  expect(all).toBeGreaterThanOrEqual(5);
  const steps = profile === "mirror" ? sweep(7, all) : [1, Math.ceil(all / 2), all];
  for (const k of steps) {
    const { left, calls } = await tell(k);
    expect(left, `stopped at call ${k}`).toEqual(expected);
    expect(calls).toBeGreaterThanOrEqual(k);
  }
}
