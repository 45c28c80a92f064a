import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { ProviderBudget } from "../../durable-objects/provider-budget.ts";
import type { BudgetRpc } from "../../src/sources/provider.ts";

const MIDDAY = Date.UTC(2026, 0, 15, 12);

/** The object of a fresh key, at the quota of the hosted service. */
function budget() {
  const { PROVIDER_BUDGET } = env;
  const stub = PROVIDER_BUDGET.get(PROVIDER_BUDGET.idFromName(crypto.randomUUID()));
  const hosted = { ...env, PROVIDER_CALLS_PER_SECOND: "10" };
  const rpc: BudgetRpc = {
    lease: (calls) =>
      runInDurableObject(stub, (_, state) => new ProviderBudget(state, hosted).lease(calls)),
    refuse: (until) =>
      runInDurableObject(stub, (_, state) => new ProviderBudget(state, hosted).refuse(until)),
  };
  return { stub, rpc };
}

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["Date"], now: MIDDAY });
});
afterEach(() => {
  vi.useRealTimers();
});

describe("ProviderBudget.lease", () => {
  it("grants the burst at once, then ten calls a second in turn", async () => {
    const { rpc } = budget();
    for (let i = 0; i < 9; i++)
      expect(await rpc.lease(50)).toMatchObject({ granted: 50, waitMs: 0 });
    expect(await rpc.lease(50)).toMatchObject({ granted: 50, waitMs: 0 });
    expect(await rpc.lease(50)).toEqual({ granted: 10, waitMs: 1_000, retryAt: null });
    expect(await rpc.lease(50)).toEqual({ granted: 10, waitMs: 2_000, retryAt: null });
    vi.setSystemTime(MIDDAY + 2_000);
    expect(await rpc.lease(5)).toEqual({ granted: 5, waitMs: 500, retryAt: null });
  });

  it("says when to come back once the wait gets long", async () => {
    const { rpc } = budget();
    let last = await rpc.lease(50);
    for (let i = 0; i < 40 && last.granted > 0; i++) last = await rpc.lease(50);
    expect(last).toEqual({ granted: 0, waitMs: 0, retryAt: MIDDAY + 1_000 });
    vi.setSystemTime(MIDDAY + 60_000);
    expect((await rpc.lease(50)).granted).toBe(50);
  });
});

describe("ProviderBudget.refuse", () => {
  const until = MIDDAY + 3_600_000;

  it("lets nobody call until then, eviction or not", async () => {
    const { stub, rpc } = budget();
    await rpc.refuse(until);
    await evictDurableObject(stub);
    vi.setSystemTime(until - 1);
    expect(await rpc.lease(1)).toEqual({ granted: 0, waitMs: 0, retryAt: until });
    vi.setSystemTime(until);
    expect((await rpc.lease(1)).granted).toBe(1);
  });

  it("is not shortened by a shorter refusal", async () => {
    const { rpc } = budget();
    await rpc.refuse(until);
    await rpc.refuse(MIDDAY + 1_000);
    expect(await rpc.lease(1)).toMatchObject({ retryAt: until });
  });

  it("lasts a day at most, whatever the provider says", async () => {
    const { rpc } = budget();
    await rpc.refuse(MIDDAY + 1e12);
    expect(await rpc.lease(1)).toMatchObject({ retryAt: MIDDAY + 24 * 3_600_000 });
  });
});
