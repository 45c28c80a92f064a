import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { ProviderBudget } from "../../durable-objects/provider-budget.ts";
import type { Network } from "../../src/chain/network.ts";
import { ProviderError } from "../../src/chain/provider/provider.ts";
import { seal } from "../../src/db/sealed.ts";
import type { Env } from "../../src/env.ts";
import { createProvider, openWalletProviders } from "../../src/sources/open-source-provider.ts";
import { findBudgetObject } from "../../src/sources/provider.ts";
import { toProviderKeyEncryptionContext } from "../../src/sources/source-row.ts";
import { TestChain } from "../support/chain.ts";
import { objectsLike } from "../support/objects.ts";

type Leases = Parameters<ProviderBudget["lease"]>[];
type Answer = Awaited<ReturnType<ProviderBudget["lease"]>>;

const NEVER_SEEN = "addr_test1vq0e6dy7cehm9zfqurcf8mwwg9te9nszsx5gy5q4eclpd0c75xvdu";

let bindings: Env;
let leases: Leases;
let answer: (calls: number) => Answer;

beforeEach(async () => {
  const chain = await TestChain.create();
  leases = [];
  answer = (calls) => ({ granted: calls, waitMs: 0, retryAt: null });
  const PROVIDER_BUDGET = objectsLike("PROVIDER_BUDGET", () => ({
    async lease(...request: Leases[number]) {
      leases.push(request);
      return answer(request[0]);
    },
  }));
  bindings = { ...env, BLOCKFROST_URL_PREPROD: chain.url, PROVIDER_BUDGET };
});

afterEach(() => {
  vi.unstubAllGlobals();
});

async function openWallet() {
  const id = "source";
  const key = await seal(env, toProviderKeyEncryptionContext(id), "local");
  const source = { id, network: "Preprod" as const, rpcProviderApiKey: key, rpcProviders: null };
  return openWalletProviders(bindings, source);
}

describe("a tip of the far future", () => {
  const DAY_S = 24 * 60 * 60;
  const tipFor = async (network: Network, more: Partial<Env> = {}) => {
    vi.stubGlobal("fetch", async () =>
      Response.json({
        ...{ height: 7, hash: "ab".repeat(32), slot: 100 },
        time: Math.floor(Date.now() / 1_000) + DAY_S,
      }),
    );
    const own = { ...bindings, LOOPBACK_ORIGINS: "", ...more };
    const provider = await createProvider(own, network, "local", "sync");
    return provider.latestBlock();
  };

  it("is told to nobody, so that no single answer ends what has a deadline", async () => {
    await expect(tipFor("Preprod")).rejects.toThrow(/its tip is \d+ s ahead of the time/);
    await expect(tipFor("Mainnet")).rejects.toThrow(ProviderError);
  });

  it("counts where the tip alone is the clock or the chain is a local one, which is never Mainnet", async () => {
    const { LOOPBACK_ORIGINS = "" } = bindings;
    for (const more of [{ CHAIN_CLOCK: "tip" }, { LOOPBACK_ORIGINS }]) {
      expect(await tipFor("Preprod", more)).toMatchObject({ height: 7 });
      await expect(tipFor("Mainnet", more)).rejects.toThrow(ProviderError);
    }
  });
});

describe("a provider leases", () => {
  it("for sync in growing portions", async () => {
    const provider = await createProvider(bindings, "Preprod", "local", "sync");
    for (let calls = 0; calls < 7; calls++) await provider.latestBlock();
    expect(leases).toEqual([
      [2, "sync", undefined, "Blockfrost"],
      [4, "sync", undefined, "Blockfrost"],
      [8, "sync", undefined, "Blockfrost"],
    ]);
  });

  it("for a caller by its key, and tells a read that has begun from one that begins", async () => {
    const provider = await createProvider(bindings, "Preprod", "local", { caller: "key" });
    await Promise.all(Array.from({ length: 7 }, () => provider.latestBlock()));
    expect(leases).toEqual([
      [5, "read", "key", "Blockfrost"],
      [10, "begunRead", "key", "Blockfrost"],
    ]);
  });

  it("for a wallet with sync what follows and sends what is under way, not what it builds", async () => {
    const provider = (await openWallet()).provider;
    await provider.transaction("ab".repeat(32));
    await provider.submit(Uint8Array.of(0x84));
    await provider.addressUtxos(NEVER_SEEN);
    await provider.protocolParameters();
    expect(leases.map(([, by]) => by)).toEqual(["sync", "wallet"]);
  });

  it("for a wallet with a deadline everything as that", async () => {
    const provider = (await openWallet()).deadlineProvider;
    await provider.submit(Uint8Array.of(0x84));
    await provider.addressUtxos(NEVER_SEEN);
    await provider.latestBlock();
    expect(new Set(leases.map(([, by]) => by))).toEqual(new Set(["deadline"]));
  });

  it("nothing more once there is nothing, and says when to come back", async () => {
    answer = () => ({ granted: 0, waitMs: 0, retryAt: 5 });
    const provider = await createProvider(bindings, "Preprod", "local", { caller: "key" });
    const error = await provider.latestBlock().catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(ProviderError);
    expect(error).toMatchObject({ status: 429, retryAt: 5 });
    expect(leases).toHaveLength(1);
  });
});

it("Ogmios, which has no plan, has a budget of its own rate", async () => {
  const budget = await findBudgetObject(env, "Preprod", "", "https://ogmios.example");
  const { granted } = await budget.lease(1_000_000, "deadline", undefined, "Ogmios");
  expect(granted).toBe(100 * (50 + 20));
});
